"""The classification report."""

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics as sk
from numpy.testing import assert_allclose
from sklearn.exceptions import UndefinedMetricWarning

from skci import F1CI, classification_report_ci, joint_report

RNG = np.random.default_rng(2)
N = 300
NAMES = np.array(["ant", "bee", "cat", "dog"])
Y = RNG.choice(4, N, p=[0.4, 0.3, 0.2, 0.1])
P = np.where(RNG.random(N) < 0.75, Y, RNG.choice(4, N))
WEIGHTS = RNG.uniform(0.5, 2, N)
TARGETS = RNG.random((N, 3)) < 0.4
TOLD = np.where(RNG.random((N, 3)) < 0.8, TARGETS, ~TARGETS)

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")


def assert_is_that_of_sklearn(report, expected):
    expected = dict(expected)
    for name, support in report.support.items():
        numbers = expected.pop(name)
        if name == "accuracy":
            assert report[name, name] == pytest.approx(numbers, rel=1e-12)
            continue
        assert support == pytest.approx(numbers.pop("support"))
        for metric, value in numbers.items():
            assert report[name, metric] == pytest.approx(value, rel=1e-12, nan_ok=True)
    assert not expected


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        ((NAMES[Y], NAMES[P]), None),
        ((NAMES[Y], NAMES[P]), ["cat", "ant"]),
        ((NAMES[Y], NAMES[P]), ["dog", "cat", "bee", "ant"]),
        ((Y > 1, P > 1), None),
    ],
)
def test_numbers_are_those_of_sklearn(rows, labels, weights):
    options = {"labels": labels, "sample_weight": weights}
    report = classification_report_ci(*rows, **options)
    expected = sk.classification_report(*rows, output_dict=True, **options)
    assert_is_that_of_sklearn(report, expected)
    if labels:
        assert list(report.support)[: len(labels)] == labels


@pytest.mark.parametrize("zero_division", [0, 1, np.nan])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_a_class_without_rows(zero_division):
    options = {"labels": [0, 1, 2, 3, 7], "zero_division": zero_division}
    with pytest.warns(UndefinedMetricWarning, match="recall of 7, .*undefined"):
        report = classification_report_ci(Y, P, **options)
    expected = sk.classification_report(Y, P, output_dict=True, **options)
    assert_is_that_of_sklearn(report, expected)
    low, high = report["macro avg", "recall"].confidence_interval()
    assert high - low > 1 / 5  # the class may have any recall
    assert report["7", "recall"].confidence_interval() == (0, 1)


def test_targets():
    expected = sk.classification_report(
        TARGETS, TOLD, output_dict=True, zero_division=np.nan
    )
    assert_is_that_of_sklearn(classification_report_ci(TARGETS, TOLD), expected)
    frames = (pd.DataFrame(own, columns=["x", "y", "z"]) for own in (TARGETS, TOLD))
    assert list(classification_report_ci(*frames).support)[:3] == ["x", "y", "z"]


@pytest.mark.parametrize("method", ["delta", "score"])
def test_intervals_are_those_of_the_metrics(method):
    report = classification_report_ci(Y, P, method=method)
    alone = report.individual()
    for average in ("macro", "weighted"):
        own = F1CI(average=average, method=method)(Y, P)
        found = alone[f"{average} avg", "f1-score"].confidence_interval()
        assert_allclose(found, own.confidence_interval())
    each = joint_report(Y, P, metrics=F1CI(average=None), method=method).individual()
    for label in range(4):
        found = alone[str(label), "f1-score"].confidence_interval()
        expected = each["y_pred", f"f1[{label}]"].confidence_interval()
        assert_allclose(found, expected)
    assert report["2", "recall"].low < alone["2", "recall"].low
    assert report.at(0.99)["2", "recall"].low < report["2", "recall"].low


def test_how_it_is_shown():
    report = classification_report_ci(Y, P, target_names=NAMES, method="score")
    title, _, header, _, *lines = str(report).splitlines()
    assert title.startswith("Joint 95% confidence intervals (score), n = 300, critical")
    assert header.split() == ["precision", "recall", "f1-score", "support"]
    averages = ["accuracy", "macro avg", "weighted avg"]
    assert [line.split("  ")[0] for line in lines] == [*NAMES, *averages]
    frame = report.to_frame()
    assert frame.index.names == ["class", "metric"]
    assert frame.loc[("ant", "recall"), "support"] == np.sum(Y == 0)
    assert "<table" in report._repr_html_()
    panels = [axes.get_title() for axes in report.plot().axes_]
    assert panels == ["precision", "recall", "f1-score"]


def test_methods_by_metric():
    methods = {"precision": "delta", "*": "blurred"}
    report = classification_report_ci(Y, P, method=methods)
    found = {metric: report[name, metric].method for name, metric in report}
    assert found["precision"] == "delta" and found["f1-score"] == "blurred"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target_names": ["a", "b"]}, "^target_names must be 4 different names"),
        ({"labels": "ant"}, "^labels must be a list of at least one label"),
        ({"zero_division": 2}, "^zero_division must be 0, 1 or"),
        ({"confidence_level": 2}, "^confidence_level must be"),
        ({"method": "wilson"}, "^method='wilson' needs a proportion, which 'f1'"),
        ({"method": {"f1": "delta"}}, r"^method must be a name or .*'f1-score'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        classification_report_ci(Y, P, **options)
