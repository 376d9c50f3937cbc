"""Reader that converts the truth and the predictions of users to a sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skci._arrays import EPS, Array, cached_property, dataclass
from skci._validation import (
    NamedArray,
    as_array,
    as_numbers,
    check_distinct,
    column_names,
    join_names,
    label_name,
    label_order,
    named_columns,
)
from skci.data import rows as checks
from skci.data.frames import columns_of_data
from skci.data.labels import (
    DENSE_COLUMNS,
    NUMBERS_HINT,
    check_indicators,
    check_label,
    check_pos_label,
    check_two_labels,
    count_two_labels,
    distinct_labels,
    encode,
    encode_two_labels,
    guess_two_labels,
    is_multilabel,
    merge_labels,
    order_labels,
)
from skci.data.row_options import RowOptions, ValidatedRowOptions
from skci.data.rows import ONE_MODEL_HINT, Alignment, parameter_name, probabilities_hint
from skci.data.sample import Sample, Scores, Vocabulary
from skci.inference.designs.strata import Prevalence
from skci.inference.designs.units import IndependentRows
from skci.inference.parameter import DEFAULT_MODEL
from skci.inference.rows import Rows

_FIRST_ROWS = 1000  # rows whose labels are compared with the names of columns


def read_scored_rows(
    requirements: RequiredData, columns: dict[str, Any], rows: RowOptions, data: Any
) -> tuple[Sample, dict[str, Array]]:
    """Read the truth and the scores, and convert the other columns to numbers."""
    columns, rows = columns_of_data(data, columns, rows)
    reader = Reader.open(requirements, columns.pop("y_true"), rows)
    scores = named_columns(columns.pop("y_score"), "y_score", DEFAULT_MODEL)
    sample = reader.sample(y_score=scores)
    numbers = {}
    for name, values in columns.items():
        reader.alignment.check(name, values, ["index"])
        column = as_numbers(values, name)
        checks.check_length(column, len(reader.y), name, reader.truth)
        numbers[name] = column[reader.rows.kept]
    return sample, numbers


@dataclass(frozen=True)
class RequiredData:
    """Kinds of predictions, and properties of labels, that metrics require."""

    kinds: frozenset[str] = frozenset({"labels"})
    """Subset of "labels", "scores", "numbers" and "items"."""
    several: bool = True
    """Whether several targets or more than two labels are accepted."""
    pos_label: Any = None
    """Positive label of two labels; None means 1."""
    infer_pos_label: bool = False
    """Whether each label may be positive if `pos_label` is None."""
    require_pos_label: bool = False
    """Whether a single column of scores for string labels requires `pos_label`."""
    labels: tuple[Any, ...] = ()
    """Labels that need not occur in the data."""
    abstain: Any = None
    """Predicted label that represents no answer."""
    truths: frozenset[str] = frozenset({"labels"})
    """Kinds of the truth: "labels", "relevance" or both, or "survival"."""
    missing_scores: bool = False
    """Whether scores may be missing, as for rows that were not retrieved."""

    @cached_property
    def truth(self) -> str:
        """Kind of the truth: "labels", "survival", "items" or "numbers"."""
        if "survival" in self.truths:
            return "survival"
        if "labels" in self.truths and not self.kinds.isdisjoint({"labels", "scores"}):
            return "labels"
        return "items" if self.kinds == {"items"} else "numbers"


@dataclass(frozen=True, eq=False)
class Reader:
    """Reader of the predictions of models, with the checked truth.

    The truth has shape (n,) or (n, targets). If metrics read only labels, identical
    rows are stored once, with a count. Otherwise, each row with positive weight is
    stored.
    """

    wanted: RequiredData
    y: Array
    targets: tuple[Any, ...]
    """Names of the targets if there are several."""
    rows: ValidatedRowOptions
    alignment: Alignment
    truth: str
    """Name of the truth in messages."""
    items: Array | None = None
    """The truth as passed, if items are read."""

    @classmethod
    def open(
        cls,
        wanted: RequiredData,
        y_true: Any,
        options: RowOptions | None = None,
        truth: str = "y_true",
    ) -> Reader:
        """Read `y_true` and the options of the rows, such as `sample_weight`."""
        options = RowOptions() if options is None else options
        alignment = Alignment()
        kind, several = wanted.truth, False
        if type(y_true) is not np.ndarray:
            alignment.check(truth, y_true)
            if kind == "labels":
                checks.check_no_tags(y_true, truth)
        targets: tuple[Any, ...] = ()
        items = checks.as_items(y_true, truth) if "items" in wanted.kinds else None
        if kind == "labels":
            has_column = getattr(y_true, "ndim", None) == 1
            several = wanted.several and not has_column and is_multilabel(y_true)
            y = (check_indicators if several else checks.as_column)(y_true, truth)
            if not len(y):
                raise ValueError(f"{truth} must contain at least one row, got none")
        elif kind == "survival":
            y = checks.check_survival(y_true, truth)
        elif kind == "items" and items is not None:
            y = items
        else:
            y = checks.check_columns(y_true, truth)
        if several or kind == "numbers":
            targets = tuple(column_names(y_true) or range(y.shape[1]))
            check_distinct(targets, truth, "columns")
        if wanted.abstain is not None:
            label = check_label(wanted.abstain, "abstain")
            checks.check_present([label], "abstain", "be a label")
            if targets or kind != "labels":
                raise ValueError(
                    "abstain must be None unless each row has a single true label, "
                    f"got {wanted.abstain!r}"
                )
        if isinstance(options.design, Prevalence):
            wanted = replace(wanted, infer_pos_label=False)
        rows = options.read(len(y), truth, alignment.check)
        return cls(wanted, y, targets, rows, alignment, truth, items)

    def with_labels(self, labels: Iterable[Any], pos_label: Any = None) -> Reader:
        """Return a reader that also accepts labels that do not occur in the data."""
        wanted = replace(self.wanted, labels=(*self.wanted.labels, *labels))
        if pos_label is not None:
            wanted = replace(wanted, pos_label=pos_label)
        return replace(self, wanted=wanted)

    @property
    def vocabulary(self) -> Vocabulary:
        """Mapping between integer codes and the labels in the truth."""
        if self.targets:
            return Vocabulary(targets=self.targets)
        return self._vocabulary([self.truth], [self._true_labels[0]])

    @property
    def true_labels(self) -> set[Any]:
        """Distinct labels in a truth with a single target."""
        return set(self._true_labels[0])

    @cached_property
    def _true_labels(self) -> tuple[Any, Array]:
        hint = NUMBERS_HINT
        if "scores" in self.wanted.kinds and self.truth == "y_true":
            hint += "; or are y_true and y_score swapped?"
        selected = self.rows.kept
        return distinct_labels(self.y[selected], self.truth, hint, selected)

    def sample(
        self,
        y_pred: Mapping[str, Any] | None = None,
        y_score: Mapping[str, Any] | None = None,
        by_rows: bool = False,
    ) -> Sample:
        """Read the predictions of each model, and return a sample.

        If `by_rows` is true, each row is a unit of the sample. Otherwise, identical
        rows may be merged into a unit.
        """
        y_pred, y_score = y_pred or {}, y_score or {}
        if len(y_score) > 1:
            y_score = self._of_one_model(y_score, y_pred)
        if y_score and DEFAULT_MODEL in y_pred and self.wanted.kinds != {"scores"}:
            checks.check_same_models([DEFAULT_MODEL], y_score)
        for parameter, columns in (("y_pred", y_pred), ("y_score", y_score)):
            for model, values in columns.items():
                if type(values) is np.ndarray and values.ndim == 1:
                    continue
                name = parameter_name(model, parameter)
                axes = ["index"] if parameter == "y_score" else ["index", "columns"]
                self.alignment.check(name, values, axes)
                if parameter == "y_pred" and self.wanted.truth == "labels":
                    checks.check_no_tags(values, name)
                if name == parameter and getattr(values, "ndim", None) != 1:
                    self._check_one_model(parameter, values)
        read: dict[str, Any] = {}
        if self.items is not None:
            selected, by_rows = self.rows.kept, True
            read["true_items"] = self.items[selected]
            read["items"] = {
                m: items[selected] for m, items in self._items(y_pred).items()
            }
            if self.wanted.kinds == {"items", "scores"}:
                y_pred = {}
        if self.wanted.truth == "labels":
            by_rows = by_rows or "scores" in self.wanted.kinds
            read_labels = self._read_indicators if self.targets else self._read_labels
            sample = read_labels(y_pred, by_rows)
            if read:
                sample = replace(sample, **read)
            return self._with_scores(sample, y_score) if y_score else sample
        if self.wanted.truth != "items":
            read |= self._read_numbers(y_pred, y_score)
        has_targets = self.wanted.truth == "numbers"
        vocabulary = Vocabulary(targets=self.targets) if has_targets else Vocabulary()
        return self.rows.sample_without_labels(vocabulary, **read)

    def _items(self, y_pred: Mapping[str, Any]) -> dict[str, Array]:
        """Return the predicted items of each model without changing the items."""
        items = {}
        for model, values in y_pred.items():
            name = parameter_name(model)
            items[model] = checks.as_items(values, name)
            rows, hint = np.arange(len(items[model])), ""
            if {len(x) for x in self.y if isinstance(x, list | tuple)} == {len(rows)}:
                hint = "; pass the references, not [references]"
                if len(self.y) > 1:
                    hint = "; pass a tuple of references for each row"
            checks.check_length(rows, len(self.y), name, self.truth, hint)
        return items

    def _of_one_model(
        self, y_score: Mapping[str, Any], y_pred: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Combine score columns, one for each label, into the scores of one model.

        Columns are combined if their names are the labels or, in multilabel data, the
        targets. Two columns could also be the scores of two models. Two columns are
        therefore combined only if each row contains probabilities that add up to 1.
        """
        names = {*map(label_name, y_score)}
        is_model = not {*y_score}.isdisjoint(y_pred)
        if self.wanted.truth != "labels" or len(names) < 2 or is_model:
            return y_score
        first = map(label_name, self.y[:_FIRST_ROWS])
        if not self.targets and names.isdisjoint(first):
            return y_score  # without checking all rows
        classes = self.targets or {*self.true_labels, *self.wanted.labels}
        class_names = {*map(label_name, classes)}
        are_numbered = names == {*map(str, range(len(names)))}
        if names != class_names and names & class_names and not are_numbered:
            raise ValueError(
                "y_score must have columns named after models, or exactly the columns "
                f"{list(classes)}, got {list(y_score)}; pass the columns of one model "
                f"as y_score={{'model': columns}}"
            )
        if names != class_names:
            return y_score
        columns = [
            as_array(values, parameter_name(model, "y_score"), "an array of numbers")
            for model, values in y_score.items()
        ]
        if any(column.shape != self.y.shape[:1] for column in columns):
            return y_score
        matrix = np.stack(columns, axis=1)
        if not self.targets and len(names) == 2 and not probabilities_hint(matrix):
            return y_score
        for model, values in y_score.items():
            self.alignment.check(parameter_name(model, "y_score"), values)
        return {DEFAULT_MODEL: NamedArray.from_columns(matrix, [*y_score])}

    def _order(
        self, values: Any, name: str, classes: Sequence[Any], positive: Any = None
    ) -> Any:
        """Return an index that sorts columns of scores in the order of the classes."""
        if type(values) is np.ndarray:
            return slice(None)
        known_classes = [label for label in classes if label is not None]
        order = label_order(values, known_classes, name, positive)
        if order is not None:
            return order
        self.alignment.check(name, values, ["columns"])
        return slice(None)

    def _check_one_model(self, parameter: str, values: Any) -> None:
        """Check that unnamed predictions are from a single model."""
        shape, n = checks.shape_of(values), len(self.y)
        are_quantiles = "items" in self.wanted.kinds and checks.quantile_levels(values)
        if len(shape) == 1 or are_quantiles:
            return
        if isinstance(values, Mapping):
            raise TypeError(
                f"{parameter} must be an array, got a mapping"
                f"{checks.SEVERAL_MODELS_HINT}"
            )
        are_items = "items" in self.wanted.kinds <= {"items", "scores"}
        is_survival = self.wanted.truth == "survival"
        if (are_items or is_survival) and parameter == "y_pred":
            return
        may_have_columns = parameter == "y_score" or len(self.targets) > 1
        if len(shape) == 2 and (
            (shape[1] == n != shape[0])
            or (shape[0] == n and shape[1] > 1 and not may_have_columns)
        ):
            hint = probabilities_hint(values) if shape[0] == n else ""
            hint = hint or checks.SEVERAL_MODELS_HINT
            if shape[0] != n:  # one row for each run
                hint = hint.replace("array.T", "array")
            raise ValueError(
                f"{parameter} must have an entry for each of the {n} rows of "
                f"{self.truth}, got shape {shape}{hint}"
            )

    def _read_labels(self, y_pred: Mapping[str, Any], by_rows: bool) -> Sample:
        """Read the labels of a single target."""
        names = [self.truth, *map(parameter_name, y_pred)]
        columns = [self.y]
        for name, values in zip(names[1:], y_pred.values(), strict=True):
            columns.append(checks.as_column(values, name))
            checks.check_length(columns[-1], len(self.y), name, self.truth)
        if self.rows.kept is not ...:
            columns = [column[self.rows.kept] for column in columns]
        if sample := self._two_plain_labels(columns, y_pred, by_rows):
            return sample
        predicted = zip(columns[1:], names[1:], strict=True)
        selected = self.rows.kept
        predicted_labels = (distinct_labels(*pair, kept=selected) for pair in predicted)
        distinct = [self._true_labels, *predicted_labels]
        vocabulary = self._vocabulary(names, [labels for labels, _ in distinct])
        abstain = self.wanted.abstain
        codes = [encode(*column, vocabulary, abstain) for column in distinct]
        return self.rows.sample(np.stack(codes, axis=1), vocabulary, [*y_pred], by_rows)

    def _two_plain_labels(
        self, columns: list[Array], models: Iterable[str], by_rows: bool
    ) -> Sample | None:
        """Read labels quickly if the columns contain two labels of a plain dtype.

        A plain dtype is, for example, int. For other columns, the result is None. Such
        columns must be read by a slower function.
        """
        requirements = self.wanted
        if requirements.abstain is not None:
            return None
        guess = guess_two_labels(columns, requirements.pos_label)
        if guess is None or not {*requirements.labels} <= {*guess}:
            return None
        negative, positive = guess
        is_symmetric = requirements.infer_pos_label and requirements.pos_label is None
        if is_symmetric and negative is not None:
            negative, positive = sorted([negative, positive])
        counts = None
        if self.rows.are_plain and not by_rows and len(columns) <= DENSE_COLUMNS:
            counted = count_two_labels(columns, positive, negative)
            codes, counts = counted or (None, None)
        else:
            codes = encode_two_labels(columns, positive, negative)
        if codes is None or (is_symmetric and (codes.all() or not codes.any())):
            return None  # perhaps because the guess of the negative label was wrong
        vocabulary = Vocabulary((negative, columns[0].dtype.type(positive).item()))
        if counts is None:
            return self.rows.sample(codes, vocabulary, [*models], by_rows)
        design = IndependentRows(len(self.y))
        return Sample(Rows(counts), design, vocabulary, codes, tuple(models))

    def _vocabulary(self, names: list[str], observed: list[list[Any]]) -> Vocabulary:
        """Return the mapping between integer codes and labels.

        The mapping contains the labels in the data and in options.
        """
        requirements = self.wanted
        if requirements.abstain is not None and requirements.abstain in observed[0]:
            raise ValueError(
                f"abstain must not be a label of {self.truth}, got "
                f"{requirements.abstain!r}"
            )
        labels = [set(column) - {requirements.abstain} for column in observed]
        labels_of_all = merge_labels(names, [*labels, set(requirements.labels)])
        if len(labels_of_all) <= 2:
            # A column of scores refers to one label, which need not occur in the data.
            is_symmetric = requirements.infer_pos_label and not (
                "scores" in requirements.kinds and len(labels_of_all) < 2
            )
            labels_of_all = order_labels(
                labels_of_all, requirements.pos_label, is_symmetric
            )
        elif not requirements.several:
            check_two_labels(labels_of_all, join_names(names))
        return Vocabulary(
            tuple(labels_of_all), abstains=requirements.abstain is not None
        )

    def _read_indicators(self, y_pred: Mapping[str, Any], by_rows: bool) -> Sample:
        """Read multilabel indicators, with a column for each target."""
        matrices = [self.y]
        for model, values in y_pred.items():
            name = parameter_name(model)
            matrix = check_indicators(values, name)
            matrices.append(checks.check_same_shape(matrix, name, self.y, self.truth))
        codes = np.concatenate(matrices, axis=1)[self.rows.kept]
        vocabulary = Vocabulary(targets=self.targets)
        return self.rows.sample(codes, vocabulary, [*y_pred], by_rows)

    def _with_scores(self, sample: Sample, y_score: Mapping[str, Any]) -> Sample:
        """Add scores to a sample of labels."""
        vocabulary = sample.vocabulary
        scores = {
            model: self._scores(values, model, vocabulary)
            for model, values in y_score.items()
        }
        truth = sample.truth
        if "relevance" in self.wanted.truths:
            truth = checks.check_columns(self.y[self.rows.kept], self.truth)
        return replace(sample, scores=scores, truth=truth)

    def _scores(self, values: Any, model: str, vocabulary: Vocabulary) -> Scores:
        """Check the scores of a model.

        There is one column for each class, or a single column for the positive label.
        Two columns must be probabilities, because other numbers could also be the
        scores of two models. With two labels, only the scores of the positive label are
        kept.
        """
        name, n = parameter_name(model, "y_score"), len(self.y)
        classes, positive = vocabulary.classes, None
        if vocabulary.binary:
            positive = classes[1]
            classes = classes if None in classes else tuple(sorted(classes))
        order = self._order(values, name, classes, positive)
        array = as_array(values, name, "an array of numbers")[..., order]
        precise = array.dtype.kind != "f" or array.dtype.itemsize >= 8
        eps = EPS if precise else float(np.finfo(array.dtype).eps)
        numbers = as_numbers(array, name, missing=self.wanted.missing_scores)
        runs = f"; joint_report accepts {checks.RUNS_HINT}"
        several = checks.SEVERAL_MODELS_HINT if name == "y_score" else runs
        if vocabulary.binary and numbers.shape != (n, 2):
            missing = self.wanted.missing_scores
            numbers = checks.check_numbers(numbers, name, n, several, missing)
            if array.dtype.kind in "biu":
                checks.warn_of_labels(array, name, vocabulary.classes)
            if self.wanted.require_pos_label and isinstance(positive, str):
                check_pos_label(self.wanted.pos_label, vocabulary.labels)
        elif numbers.shape != (n, len(classes)) or None in classes:
            kind = "targets" if vocabulary.multilabel else "labels"
            hint = "; pass labels that do not occur as labels= of a metric"
            hint = ONE_MODEL_HINT if numbers.ndim == 1 else hint * (kind == "labels")
            known_classes = [label for label in vocabulary.classes if label is not None]
            raise ValueError(
                f"{name} must have a row for each of the {n} rows and a column for "
                f"each of the {kind} {known_classes}, got shape {numbers.shape}{hint}"
            )
        elif vocabulary.binary:
            checks.check_probabilities(numbers, model, "two columns", several, eps)
            numbers = numbers[:, classes.index(positive)]
        return Scores(numbers[self.rows.kept], eps=eps)

    def _read_numbers(
        self, y_pred: Mapping[str, Any], y_score: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Read numeric predictions, such as regression estimates or document scores.

        Predictions have the same shape as the truth. For survival data, however,
        predictions are probabilities with any number of columns, and scores are risks
        in a single column.
        """
        n, selected, kinds = len(self.y), self.rows.kept, self.wanted.kinds
        is_survival = self.wanted.truth == "survival"
        scores, numbers = {}, {}
        for model, values in y_pred.items() if "numbers" in kinds else ():
            name = parameter_name(model)
            columns = checks.check_columns(values, name)
            checks.check_length(columns[:, 0], n, name, self.truth)
            if not is_survival:
                checks.check_same_shape(columns, name, self.y, self.truth)
            numbers[model] = columns[selected]
        for model, values in y_score.items() if is_survival or not numbers else ():
            name = parameter_name(model, "y_score")
            if is_survival:
                columns = checks.check_numbers(values, name, n)
            else:
                order = self._order(values, name, self.targets)
                columns = checks.check_columns(values, name, self.wanted.missing_scores)
                columns = columns[:, order]
                checks.check_same_shape(columns, name, self.y, self.truth)
            scores[model] = Scores(checks.flat(columns[selected]))
        return {"truth": self.y[selected], "scores": scores, "numbers": numbers}
