"""Whatever is passed to an entry point: an own error, or an honest interval.

The cases are those of ``fuzz_cases.py``. `outcome` is the promise. To run any number of
them, say those of seed 7 from 0 to 99,999, or one to debug it::

    SKCI_FUZZ=7:0:100000 python -m pytest -n 0 -s tests/test_fuzz.py -k chosen
"""

import dis
import inspect
import itertools
import json
import math
import os
import re
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from fuzz_cases import PARAMETERS, PUBLIC_MODULES, Case, Draw
from sklearn.exceptions import UndefinedMetricWarning
from slow import slow_except

import skci
from skci import exceptions
from skci.reports import (
    BestReport,
    ContrastReport,
    JointReport,
    MetricEstimate,
    RankReport,
    RequirementReport,
)
from skci.reports.base import Report

PACKAGE = str(Path(skci.__file__).parent)
OWN_WARNINGS = (
    *(getattr(exceptions, name) for name in exceptions.__all__),
    UndefinedMetricWarning,
)
PROMISED = [
    "like predicted labels",
    "far below the value of random scores",
    "have probability 0 for their true label",
]
"""In a UserWarning that an entry point promises."""
NAMES = re.compile(rf"\b({'|'.join({*PARAMETERS} - {'self'})})s?\b")
RAISE = dis.opmap["RAISE_VARARGS"]
KINDS = ["refused", "warned", "answered", "compared"]
MANY = 6  # estimates of which all comparisons are slow by "score"
CHOSEN = os.environ.get("SKCI_FUZZ")
"""Seed, first case and the one after the last, as in 7:0:1000."""


# The promise


def outcome(case):
    """Whether a case is refused, warned of or answered, as an entry point promises.

    It raises an error of its own that names a parameter, or returns estimates within
    intervals of some width within the range, with no warnings but its own, also where
    a user asked numpy to raise all its warnings, of underflow too.
    """
    with np.errstate(all="raise"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = refused_or(case)
        if found is not None:
            check(found, case.draw)
            for _ in range(case.draw.one([0, 0, 1, 2])):
                follow(found, case.draw)
    foreign = [w for w in caught if not is_own_warning(w)]
    assert not foreign, "\n".join(map(str, foreign))
    return "refused" if found is None else "warned" if caught else "answered"


def refused_or(call):
    """What a call returns; None if it raises an error of the package."""
    try:
        found = call()
    except Exception as error:
        assert is_own_error(error), "a foreign error"
        return None
    assert found is not None
    return found


def is_own_error(error):
    """Whether an error is raised by a statement of the package that says of what."""
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code
    is_raised = code.co_code[last.tb_lasti] == RAISE
    kind = isinstance(error, ValueError | TypeError | KeyError)
    names = NAMES.search(str(error)) is not None
    return is_raised and code.co_filename.startswith(PACKAGE) and kind and names


def is_own_warning(warning):
    if warning.category is UserWarning:
        return any(words in str(warning.message) for words in PROMISED)
    return issubclass(warning.category, OWN_WARNINGS)


def check(found, draw):
    """Check what an entry point, or a method of what it returns, returns."""
    if isinstance(found, MetricEstimate):
        check_estimate(found)
        check_pvalue(found, draw)
    elif isinstance(found, Report):
        check_report(found)
        keys = [*found]
        for key in draw.some(keys, 12):
            check_estimate(found[key])
        check_pvalue(found[draw.one(keys)], draw)
    elif isinstance(found, BestReport | RankReport):
        check_shown(found)
        low, high = found.intervals.T
        middle, least = np.zeros(len(low)), -np.inf
        if isinstance(found, RankReport):
            middle, least = np.where(np.isnan(found.estimates), low, found.estimates), 1
        else:
            assert (low < high).all()
        assert (least <= low).all() and (low <= middle).all() and (middle <= high).all()
    elif isinstance(found, RequirementReport):
        check_shown(found)
        assert all(0 <= verdict.pvalue <= 1 for verdict in found.verdicts)
    elif isinstance(found, dict):
        for value in found.values():
            check(value, draw)
    elif isinstance(found, list | str):
        assert found and all(isinstance(text, str) and text for text in found)
    elif isinstance(found, np.ndarray):
        assert (((found >= 0) & (found <= 1)) | np.isnan(found)).all(), found
    elif isinstance(found, tuple):
        statistic, pvalue = found
        assert np.isfinite(statistic) and 0 <= pvalue <= 1
    else:
        assert isinstance(found, int | float) and np.isfinite(found)


def check_estimate(estimate):
    low, high = estimate.confidence_interval()
    lowest, highest = estimate._parameter.trait.bounds
    assert lowest <= low < high <= highest, (low, high)
    if np.isnan(estimate):
        assert (low, high) == (lowest, highest)
    else:
        assert low <= estimate <= high, (low, float(estimate), high)
    assert estimate.standard_error >= 0 or np.isnan(estimate.standard_error)
    assert estimate.design_effect >= 0
    assert str(estimate) and repr(estimate)
    json.dumps(estimate.to_dict(), allow_nan=False)


def check_pvalue(estimate, draw):
    nulls = [*estimate.confidence_interval(), float(estimate), 0.5]
    nulls = [null for null in nulls if np.isfinite(null)]
    null, alternative = draw.one(nulls), draw.one(["two-sided", "less", "greater"])
    low, high = estimate._parameter.trait.bounds
    if low <= null <= high:
        assert 0 <= estimate.pvalue(null, alternative) <= 1, null


def check_report(report):
    check_shown(report)
    frame = report.to_frame()
    assert len(frame) == len(report)
    inside = (frame.low <= frame.estimate) & (frame.estimate <= frame.high)
    assert (inside | frame.estimate.isna()).all(), frame
    assert (frame.low < frame.high).all(), frame
    for matrix in (report.covariance, report.correlation):
        assert np.allclose(matrix, matrix.T, equal_nan=True)
    assert 0 < report.critical_value < np.inf
    if isinstance(report, ContrastReport):
        pvalues = report.pvalues
        assert ((pvalues >= 0) & (pvalues <= 1)).all(), pvalues


def check_shown(report):
    assert str(report) and report.to_markdown() and report.to_latex()
    assert report._repr_html_()
    json.dumps(report.to_dict(), allow_nan=False)


def follow(found, draw):
    """Call a method of what an entry point returned, and perhaps one of its result."""
    if isinstance(found, MetricEstimate):
        refused_or(lambda: found.confidence_interval(draw.level()))
    if not isinstance(found, Report):
        return
    name, arguments = draw.one(steps(found, draw))
    result = refused_or(lambda: getattr(found, name)(**arguments))
    if result is not None and (name != "findings" or result):
        check(result, draw)
        if draw.chance(0.3):
            follow(result, draw)


def steps(report, draw):
    """Methods of a report, with arguments."""
    found = [("at", {"confidence_level": draw.level()}), ("individual", {})]
    compare = {
        "scale": draw.one(["difference", "difference", "ratio"]),
        "method": draw.method(),
        "adjust": draw.one(["single-step", "step-down", "none"]),
    }
    compare = {name: compare[name] for name in draw.some([*compare])}
    coefficients = draw.rng.integers(-1, 2, (draw.one([1, 2]), len(report)))
    coefficients = coefficients * draw.one([1, 1, 1, 0.1, 1e-13, 1e-300, 1e300])
    labels = [f"c{k}" for k in range(len(coefficients))]
    if isinstance(report, JointReport | ContrastReport):
        contrasts = {"matrix": coefficients, "labels": labels, "method": draw.method()}
        contrasts |= draw.eased(len(report) > MANY)
        width = draw.one([0.05, 0.2, {report.metrics[0]: 0.1}, "x"])
        found += [("contrasts", contrasts), ("sample_size", {"half_width": width})]
        found.append(("findings", {}))
    if isinstance(report, ContrastReport):
        power = {"power": 0.8, "difference": draw.one([0.1, None])}
        found += [("sample_size", power), ("power", {"n_samples": [20, 500]})]
        found.append(("select", {"metric": report.metrics[0]}))
    if not isinstance(report, JointReport):
        return found
    metric, model = draw.one(report.metrics), draw.one(report.models)
    found += [("select", {"models": model}), ("select", {"metrics": [metric, "f9"]})]
    if len(report) <= MANY:
        found += 3 * [("differences", compare)] + 2 * [("gaps", compare)]
        found += 2 * [("gaps", compare | {"to": draw.one(["rest", "overall"])})]
        found += [("differences", {"control": model}), ("best", {"metric": metric})]
        found += [("best", {}), ("letters", {}), ("letters", {"metric": metric})]
        found += [("findings", {"by": "differences"}), ("ranks", {"metric": metric})]
        found += [("differences", {"margin": draw.one([0.05, {metric: 0.1}, 1])})]
        needed = {metric: (draw.one([">=", "<="]), draw.one([0, 0.5, 0.9]))}
        found += [("ranks", {}), ("requirements", {"requirements": needed})]
    return found


# Running it


def outcomes_of(seed, number):
    """The entry point of a case and its outcome, or how it breaks the promise."""
    case = Draw(seed, number).case()
    try:
        yield case.entry, outcome(case)
    except Exception:
        yield case.entry, f"{shown(seed, number)}\n{case}\n{traceback.format_exc()}"


def shown(seed, number):
    """The variable that runs a case again."""
    return f"SKCI_FUZZ={seed}:{number}:{number + 1}"


def assert_kept(outcomes_of, seed, numbers):
    """Print the number of cases of each name by outcome, and fail for broken ones."""
    counts, broken = Counter(), []
    for name, outcome in itertools.chain(*(outcomes_of(seed, k) for k in numbers)):
        if outcome not in KINDS:
            broken.append(outcome)
            outcome = "broken"
        counts[name, outcome] += 1
    print(*sorted(counts.items()), sep="\n")
    assert not broken, "\n\n".join([*broken[:9], f"{len(broken)} are broken"])


@pytest.mark.parametrize("part", slow_except([0], range(4)))
def test_the_promise_is_kept(part):
    assert_kept(outcomes_of, 0, range(100 * part, 100 * (part + 1)))


@pytest.mark.skipif(not CHOSEN, reason="runs the cases that SKCI_FUZZ names")
def test_the_promise_is_kept_in_chosen_cases():
    seed, start, stop = map(int, CHOSEN.split(":"))
    assert_kept(outcomes_of, seed, range(start, stop))


def raises(error):
    raise error


def warns_of_something():
    warnings.warn("something", RuntimeWarning, stacklevel=2)
    return 1.0


@pytest.mark.parametrize(
    "broken",
    [
        lambda: skci.F1CI()([0, 1], {"a": 1}["b"]),
        lambda: raises(ValueError("no")),
        warns_of_something,
        lambda: [],
        lambda: math.nan,
        lambda: (1.0, 1.1),
    ],
)
def test_a_broken_promise_is_noticed(broken):
    with pytest.raises(AssertionError):
        outcome(Case("", broken, {}, Draw(0, 0)))


# Neither labels nor scores nor grades are what these read, or they fit, which takes
# long; see their own tests.
OTHERS = """
    agreement_report available_metrics coco cross_val_folds cross_validate_report
    event_by five_by_two_f_test fold_models_report importance_report
    interval_scorers label_next learning_curve_report make_metric_ci read
    rogan_gladen search_report show_versions suite_report transcripts trec
    uplift_report votes_report"""


def test_every_entry_point_is_called():
    called = {Draw(2, number).case().entry for number in range(300)}
    functions = {
        name
        for module in PUBLIC_MODULES
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
    }
    others = {"metric", "from_confusion_matrix", "JointEvaluator"}
    assert called == functions - {*OTHERS.split()} | others
