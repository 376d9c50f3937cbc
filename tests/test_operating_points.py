"""Recall at a specificity and the reverse, beside the battery of scores."""

import numpy as np
import pytest
from battery import quiet
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.metrics import roc_curve
from slow import slow_except

import skci
from skci import RecallAtSpecificityCI, SpecificityAtRecallCI, joint_report
from skci.cli.main import main
from skci.exceptions import DegenerateVarianceWarning

CUT = norm.isf(0.1)  # of standard normal scores of negative rows
SIZES = {100: (70, 30), 300: (210, 90), 1000: (900, 100)}


def drawn(n_negative, n_positive, recall=0.9, seed=0, decimals=15):
    """Normal scores with a recall at a specificity of 0.9."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [n_negative, n_positive])
    scores = rng.normal(size=len(y)) + (CUT - norm.isf(recall)) * y
    return y, np.round(scores, decimals)


def mirrored(y, scores):
    """Rows whose specificity at a recall is the recall at a specificity of others."""
    return 1 - y, -scores


@pytest.mark.parametrize("decimals", [0, 1, 15])
@pytest.mark.parametrize("n_negative", [100, 103])
def test_the_estimate_is_on_scikit_learns_curve(n_negative, decimals):
    """On the upper end of a vertical part, as if it were the best of all thresholds."""
    y, scores = drawn(n_negative, 80, decimals=decimals)
    fpr, tpr, _ = roc_curve(y, scores)
    expected = np.interp(0.1 + 1e-9, fpr, tpr)
    if decimals == 15:
        assert expected == tpr[fpr < 0.1 + 1e-9].max()
    found = RecallAtSpecificityCI(0.9)(y, scores)
    assert found == pytest.approx(expected, rel=1e-6)
    assert SpecificityAtRecallCI(0.9)(*mirrored(y, scores)) == found


@pytest.mark.parametrize("recall", [0.6, 0.9])
def test_the_standard_error_follows_from_the_densities(recall):
    """Linnet's variance (1987): of the positive rows, and of the threshold."""
    n = 5000, 2000
    slope = norm.pdf(norm.isf(recall)) / norm.pdf(CUT)
    variance = recall * (1 - recall) / n[1] + slope**2 * 0.1 * 0.9 / n[0]
    metric = RecallAtSpecificityCI(0.9, method="delta")
    samples = [drawn(*n, recall, seed) for seed in range(20)]
    found = [metric(*sample).standard_error for sample in samples]
    assert np.mean(found) == pytest.approx(variance**0.5, rel=0.05)


def test_the_standard_error_is_that_of_a_simulation():
    """Also of differences. The Monte Carlo error of 200 samples is 5 %."""
    estimates, errors, metric = [], [], RecallAtSpecificityCI(0.9)
    for seed in range(200):
        y, first = drawn(300, 200, 0.7, seed)
        second = 0.8 * first + 0.6 * drawn(300, 200, 0.4, seed + 1000)[1]
        models = {"first": first, "second": second}
        report = joint_report(y, y_score=models, metrics=metric, method="delta")
        difference = report.differences()[metric.name, "first", "second"]
        pair = report["first", metric.name], difference
        estimates.append(pair)
        errors.append([each.standard_error for each in pair])
    assert_allclose(np.mean(errors, axis=0), np.std(estimates, axis=0), rtol=0.15)


@pytest.mark.parametrize(
    ("n", "recall", "decimals"),
    slow_except(
        lambda case: case == (100, 0.9, 15),
        [(n, r, d) for n in SIZES for r in (0.6, 0.9, 0.97) for d in (1, 15)],
    ),
)
def test_intervals_cover(n, recall, decimals):
    """In 400 samples, with a Monte Carlo error of 0.011 at 0.95."""
    samples = (drawn(*SIZES[n], recall, seed, decimals) for seed in range(400))
    metric = RecallAtSpecificityCI(0.9)
    limits = np.array([quiet(metric(*x).confidence_interval) for x in samples])
    assert ((limits >= 0) & (limits <= 1)).all()
    covered = ((limits[:, 0] <= recall) & (recall <= limits[:, 1])).mean()
    assert 0.93 < covered <= 0.99


def test_few_negative_rows_do_not_determine_the_threshold():
    """All scores are below the 0.9 quantile with probability 0.052 in 28 rows."""
    metric = RecallAtSpecificityCI(0.9)
    assert metric(*drawn(29, 60)).low > 0
    for scores in (drawn(28, 60)[1], np.repeat([0.1, 0.9], [28, 60])):
        found = metric(np.repeat([0, 1], [28, 60]), scores)
        with pytest.warns(DegenerateVarianceWarning, match="determine the threshold"):
            assert found.confidence_interval() == (0, 1)


def test_the_interval_below_1_allows_for_the_threshold():
    """One more negative row above the positive rows would lower the recall to 0."""
    y = np.repeat([0, 1], [100, 100])
    separate = np.append(np.linspace(0, 1, 100), np.full(100, 2.0))
    crossed = separate.copy()
    crossed[:10] = 3
    apart, touching = (RecallAtSpecificityCI(0.9)(y, x) for x in (separate, crossed))
    assert apart == touching == 1
    assert apart.low > 0.9
    assert touching.low < 0.6


def test_names_with_an_equals_sign_in_requirements_and_commands(tmp_path, capsys):
    y, scores = drawn(200, 100)
    name, other = "recall@specificity=0.9", "specificity@sensitivity=0.9"
    models = {"new": scores, "old": -scores}
    report = joint_report(y, y_score=models, metrics=[name, other])
    required = [f"new {name} >= 0.6", f"{other}: new >= old - 0.1"]
    assert report.requirements(required).verdict == "shown"
    rows = tmp_path / "rows.csv"
    np.savetxt(
        rows, np.column_stack([y, scores]), "%.17g", ",", "\n", "y,s", comments=""
    )
    options = f"--truth=y --scores=s --metrics={name} --method={name}=delta"
    assert main(["report", str(rows), *options.split()]) == 0
    shown = RecallAtSpecificityCI(0.9, method="delta")(y, scores)
    assert f"{shown:.3f}" in capsys.readouterr().out


def test_models_at_different_thresholds_are_compared_by_labels():
    y, scores = drawn(60, 40)
    thresholds = {"A": [0.5], "B": [0.6]}
    report = skci.threshold_report(
        y, {"A": scores, "B": -scores}, metrics="recall", thresholds=thresholds
    )
    with pytest.raises(ValueError, match="the same metric and threshold"):
        report.differences()
