"""Copies of estimates and reports do what the originals do, not only show the same."""

import copy
import gc
import pickle
from collections.abc import Sequence
from functools import lru_cache, partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
from batteries import case_of, representative_case
from battery import estimates, limit_rounding, limits, quiet
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from slow import in_turn, slow, slow_except

import skci
from skci.designs import Strata
from skci.reports import JointReport

COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
}

_rng = np.random.default_rng(3)
Y = _rng.integers(0, 2, 120)
SCORES = {name: Y + _rng.normal(0, s, 120) for name, s in {"A": 0.6, "B": 1.1}.items()}
LABELS = {name: (scores > 0.5).astype(int) for name, scores in SCORES.items()}
PROBABILITIES = {name: 1 / (1 + np.exp(-each)) for name, each in SCORES.items()}
SITE = _rng.choice(["north", "south"], 120)
TABLES = {"a": [[40, 9], [9, 40]], "b": [[30, 3], [9, 8]]}
GIVEN = {(m, "accuracy"): 0.9 - 0.04 * k for k, m in enumerate("ABC")}
CANCER = [values[::3] for values in load_breast_cancer(return_X_y=True)]
MODELS = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(random_state=0)}


def accumulated():
    accumulator = skci.JointAccumulator("brier_score", moments=True)
    accumulator.update(Y, y_score=PROBABILITIES)
    return accumulator.report()


def searched():
    search = GridSearchCV(MODELS["tree"], {"max_depth": [1, 3]}, cv=3).fit(*CANCER)
    return skci.search_report(search, *CANCER, metrics="accuracy")


REPORTS = {
    "labels": lambda: skci.joint_report(Y, LABELS, metrics=["f1", "recall"]),
    "subgroups": lambda: skci.joint_report(Y, LABELS, metrics="f1", by={"site": SITE}),
    "strata": lambda: skci.joint_report(
        Y, LABELS, metrics="accuracy", design=Strata(SITE)
    ),
    "scores": lambda: skci.joint_report(
        Y, y_score=PROBABILITIES, metrics=["roc_auc", "brier_score"]
    ),
    "numbers": lambda: skci.joint_report(Y + 0.5, SCORES, metrics=["r2", "mae"]),
    "moments": accumulated,
    "ratios": lambda: REPORTS["labels"]().differences(scale="ratio"),
    "differences": lambda: REPORTS["subgroups"]().differences(margin=0.05),
    "gaps": lambda: REPORTS["subgroups"]().gaps(scale="ratio"),
    "grades": lambda: skci.grades_report(PROBABILITIES, bounds=(0, 1)),
    "given": lambda: skci.joint_intervals(GIVEN, np.eye(3) * 1e-4, bounds=(0, 1)),
    "independent": lambda: skci.combine_independent(
        {k: skci.F1CI().from_confusion_matrix(each) for k, each in TABLES.items()}
    ),
    "classes": lambda: skci.classification_report_ci(Y, LABELS["A"], method="delta"),
    "roc": lambda: skci.roc_report(Y[2:6], SCORES["A"][2:6]),
    "thresholds": lambda: skci.threshold_report(
        Y, SCORES["A"], thresholds=[0.3, 0.6], metrics=["f1", "recall"]
    ),
    "calibration": lambda: skci.calibration_report(Y, PROBABILITIES["A"], n_bins=4),
    "cross-validation": lambda: skci.cross_validate_report(
        MODELS, *CANCER, metrics=["f1", "accuracy"]
    ),
    "fold models": lambda: skci.cross_validate_report(
        MODELS, *CANCER, metrics="f1", target="fold-models"
    ),
    "learning curves": lambda: skci.learning_curve_report(
        MODELS, *CANCER, metrics="f1", train_sizes=[60, 120]
    ),
    "search": searched,
}


@lru_cache
def report_of(kind):
    return quiet(REPORTS[kind])


USES = [
    "at(0.8)",
    "individual()",
    "values()[0].confidence_interval(0.7)",
    "values()[0].pvalue(0.7)",
    "requirements({report.metrics[0]: ('>=', 0.7)})",
    "select(metrics=report.metrics[0])",
    "select(first=next(iter(report))[1])",
    "differences()",
    "differences(scale='ratio')",
    "gaps()",
    "gaps(scale='ratio', to='rest')",
    "contrasts(np.eye(1, len(report)) - np.eye(1, len(report), 1), ['difference'])",
    "best()",
    "ranks()",
    "sample_size(0.01)",
    "findings()",
    "to_frame(wide=True)",
    "where(f'{report.metrics[0]} >= 0.4')",
]


def outcome(use, report):
    """What a use gives; or the error, where it has no such use."""
    try:
        found = quiet(eval, f"report.{use}", globals(), {"report": report})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return type(error), str(error)
    if isinstance(found, tuple | float):  # without the last bits
        return np.round(found, 8).tolist()
    return quiet(repr, found)


@lru_cache
def outcomes_of(kind):
    return {use: outcome(use, report_of(kind)) for use in USES}


SLOW = {"fold models", "learning curves", "thresholds", "ratios"}


@pytest.mark.parametrize(
    ("kind", "copied"),
    slow_except(lambda case: case[0] not in SLOW, in_turn(REPORTS, COPIES)),
)
def test_copies_of_reports_are_used_as_the_originals(kind, copied):
    expected = outcomes_of(kind)
    looked_at = copied == "deepcopy"
    new = COPIES[copied](report_of(kind) if looked_at else quiet(REPORTS[kind]))
    for use in USES:
        assert outcome(use, new) == expected[use], use


@pytest.mark.parametrize("kind", REPORTS)
def test_reports_are_mappings_from_labels_to_estimates(kind):
    """Also parts of a report, and the report at another level."""
    report = report_of(kind)
    found = quiet(dict, report)
    frame = quiet(report.to_frame)
    assert list(found) == list(report) == list(report.keys())
    assert list(found.values()) == report.values() == list(frame["estimate"])
    assert [key for key, _ in report.items()] == list(found)
    for estimate, row in zip(found.values(), frame.itertuples(), strict=True):
        assert quiet(estimate.confidence_interval) == (row.low, row.high)
    parts = [report.at(0.99)]
    if hasattr(report, "select"):
        column = "metric" + "s" * isinstance(report, JointReport)
        parts.append(report.select(**{column: report.metrics[-1]}))
    for part in parts:
        for key, estimate in dict(part).items():
            assert estimate == found[key] == part[key]
            assert estimate.confidence_level == part.confidence_level


@pytest.mark.parametrize("use", USES)
def test_every_use_is_one_of_some_report(use):
    """So that none of them compares only errors."""
    found = [outcomes_of(kind)[use] for kind in ("ratios", "subgroups", "thresholds")]
    assert any(not isinstance(each, tuple) for each in found)


@pytest.mark.parametrize("copied", ["pickle", slow("deepcopy")])
@representative_case
def test_copies_of_estimates_have_the_intervals_of_the_originals(family, name, copied):
    (case, rows, *_), copied = case_of(family, name), COPIES[copied]
    found = quiet(case.metric, rows.y, rows.p)
    for new in (copied(found), quiet(copied(case.metric), rows.y, rows.p)):
        rtol = limit_rounding(found, 1e-12)
        assert_allclose(estimates(new), estimates(found), rtol=1e-13)
        assert_allclose(quiet(limits, new), quiet(limits, found), rtol)
        assert_allclose(limits_at(0.8, new), limits_at(0.8, found), rtol)


def limits_at(level, found):
    """Limits at a level, of an estimate or of all of a report."""
    parts = [found] if isinstance(found, float) else map(found.__getitem__, found)
    return [quiet(part.confidence_interval, level) for part in parts]


# Arrays that reports hand out cannot change them, nor can arrays that they read

X = np.stack([*SCORES.values()], axis=1)
COVARIANCE = np.array([[2.0, 1.0], [1.0, 3.0]]) * 1e-4
MADE_FROM_REPORTS = {
    "margin": lambda: REPORTS["labels"]().differences(margin=0.05),
    "step-down": lambda: REPORTS["labels"]().differences(adjust="step-down"),
    "gaps to the rest": lambda: REPORTS["subgroups"]().gaps(to="rest"),
    "contrasts": lambda: REPORTS["labels"]().contrasts([[1, 0, -1, 0]], ["f1"]),
    "many": lambda: skci.joint_report(
        Y, {f"{k}": np.roll(Y, k) for k in range(9)}, metrics="f1", method="delta"
    ).differences(),
    "ranks": lambda: REPORTS["labels"]().ranks(),
    "best": lambda: REPORTS["labels"]().best("f1"),
    "requirements": lambda: REPORTS["labels"]().requirements("f1 >= 0.5"),
    "where": lambda: skci.precision_recall_report(
        Y, X[:, 0], thresholds=[0.0, 0.5, 1.0]
    ).where("recall >= 0.5"),
}
MAKERS = {
    kind: partial(quiet, make) for kind, make in (REPORTS | MADE_FROM_REPORTS).items()
}


def arrays_in(value):
    """All arrays in a value, and in what it holds."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        yield from arrays_in([*value.values()])
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from arrays_in(each)


def public_arrays(thing):
    """Arrays of the public attributes of an object, by the name of the attribute."""
    for name in dir(thing):
        if not name.startswith("_"):
            for array in arrays_in(getattr(thing, name)):
                yield name, array


def handed_out(report):
    """Arrays of a report, and of its picture if it has one."""
    yield from public_arrays(report)
    if hasattr(report, "plot"):
        display = report.plot()
        plt.close(display.figure_)
        for name, array in public_arrays(display):
            if not name.endswith("_"):  # else it holds what was drawn
                yield f"plot().{name}", array


def overwrite(array):
    """Write to an array, or find that it is read-only."""
    try:
        array[...] = np.zeros_like(array)
    except ValueError as error:
        assert "read-only" in str(error)


def shown_by(report):
    """All that a report shows."""
    yield from (str(report), report.to_dict())
    if hasattr(report, "findings"):
        yield report.findings()
    if hasattr(report, "at"):
        yield str(report.at(0.9))


@pytest.mark.parametrize(("name", "state"), in_turn(MAKERS, ["as it is", "unpickled"]))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_writing_to_what_a_report_hands_out_changes_nothing(name, state):
    report = MAKERS[name]()
    expected = list(shown_by(report))
    copies = [(name, array.copy()) for name, array in handed_out(report)]
    if state == "unpickled":
        report = pickle.loads(pickle.dumps(report))
    for _, array in handed_out(report):
        overwrite(array)
    assert list(shown_by(report)) == expected
    assert list(shown_by(copy.deepcopy(report))) == expected
    for (name, array), before in zip(handed_out(report), copies, strict=True):
        assert_array_equal(array, before[1], err_msg=name)


def test_arrays_are_found():
    """The test above can fail: it knows of arrays of reports and of their pictures."""
    assert {name for name, _ in handed_out(REPORTS["labels"]())} == {
        *("estimates", "half_widths", "covariance", "correlation", "plot().estimates"),
        *("plot().intervals", "plot().individual_intervals"),
    }
    found = report_of("cross-validation")
    assert "splits" in {name for name, _ in public_arrays(found)}


def read_from(truth, numbers, covariance, scores):
    """Reports that read all rows, not counts of them, and one of given estimates."""
    return [
        skci.joint_report(truth * 1.0, numbers, metrics="mean_absolute_error"),
        skci.joint_report(truth, y_score=numbers, metrics="roc_auc"),
        skci.roc_report(truth, numbers, thresholds=[0.0, 1.0]),
        skci.joint_intervals({"A": 0.5, "B": 0.6}, covariance),
        skci.grades_report(scores, samples="independent"),
    ]


def test_writing_to_what_was_read_changes_nothing():
    def shown(reports):
        differences = [report.differences() for report in reports[:-1]]
        return [*map(str, [*reports, *differences])]

    columns = {name: column.copy() for name, column in SCORES.items()}
    arrays = [Y.copy(), columns, COVARIANCE.copy(), X.copy()]
    expected, reports = shown(read_from(*arrays)), read_from(*arrays)
    for array in arrays_in(arrays):
        array[...] = 0
    assert shown(reports) == expected


@pytest.mark.parametrize(
    ("metric", "columns"),
    [
        (skci.F1CI(), LABELS),
        (skci.F1CI(method="delta"), LABELS),
        (skci.RocAucCI(), SCORES),
        (skci.LogLossCI(), PROBABILITIES),
    ],
)
def test_rows_are_freed_with_the_last_reference_to_an_estimate(metric, columns):
    """Nothing is left to the garbage collector, which may be long in coming."""

    def use():
        estimate = metric(Y, columns["A"])
        return estimate.low, estimate.standard_error

    use()  # and what is computed once for all
    gc.freeze()
    gc.disable()
    try:
        use()
        assert gc.collect() == 0
    finally:
        gc.enable()
