"""Joint reports of grades without a truth."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skci import grades_report, pass_at_k

RNG = np.random.default_rng(0)
GRADES = {"A": RNG.beta(4, 1, (60, 4)), "B": RNG.beta(3, 1, (60, 4))}
PASSAGES = np.repeat(np.arange(12), 5)
few_items = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")
sampled = partial(grades_report, samples="independent")
unequal = partial(sampled, missing_grades="drop")  # unequal numbers of samples


def means_of(scores):
    return {model: each.mean(axis=1) for model, each in scores.items()}


def same_intervals(first, second):
    assert list(first) == list(second)
    np.testing.assert_allclose(first.estimates, second.estimates, rtol=1e-12)
    for key in first:
        ends = [(report[key].low, report[key].high) for report in (first, second)]
        np.testing.assert_allclose(*ends, rtol=1e-9)


def test_means_and_their_paired_differences():
    for method in ("hall", "delta"):
        report = sampled(GRADES, method=method)
        for model, values in means_of(GRADES).items():
            estimate = report[model, "mean"]
            assert float(estimate) == pytest.approx(values.mean())
            assert estimate.standard_error == pytest.approx(stats.sem(values))
    A, B = means_of(GRADES).values()
    pair, t_test = report.differences()["mean", "A", "B"], stats.ttest_rel(A, B)
    assert pair.standard_error == pytest.approx(stats.sem(A - B))
    assert pair.pvalue(0) == pytest.approx(2 * stats.norm.sf(abs(t_test.statistic)))


def test_clusters():
    report = sampled(GRADES, groups=PASSAGES)
    for model, values in means_of(GRADES).items():
        centred = (values - values.mean()).reshape(12, 5).sum(axis=1)
        expected = np.sqrt(12 / 11 * (centred**2).sum()) / 60
        assert report[model, "mean"].standard_error == pytest.approx(expected)
    assert report.n_groups == 12


def test_missing_samples_are_counted_or_left_out():
    scores = {model: values.copy() for model, values in GRADES.items()}
    scores["A"][3, 1:] = np.nan
    message = r"must cover all samples, got .* for 'A' \(3\)\. Set missing_g"
    with pytest.raises(ValueError, match=message):
        sampled(scores)
    expected = {**means_of(GRADES), "A": np.nanmean(scores["A"], axis=1)}
    for option in ("drop", "pairwise"):
        found = sampled(scores, missing_grades=option)
        assert ", 3 samples without a grade left out" in str(found)
        same_intervals(found, grades_report(expected))
        same_intervals(found.differences(), grades_report(expected).differences())
    scores["B"][7] = np.nan
    found = sampled(scores, missing_grades=0)
    assert "of 60 items, 7 missing grades counted as 0" in str(found)
    counted = {model: np.nan_to_num(values) for model, values in scores.items()}
    same_intervals(found, sampled(counted))


@few_items
def test_items_that_a_model_lacks_are_left_out_for_all():
    scores = {model: values.copy() for model, values in GRADES.items()}
    scores["A"][[2, 7]] = np.nan
    kept = np.setdiff1d(np.arange(60), [2, 7])
    options = {"groups": PASSAGES, "sample_weight": RNG.random(60)}
    bounds = {"bounds": (0, 1)}
    found = sampled(scores, missing_grades="drop", **options, **bounds)
    options = {name: values[kept] for name, values in options.items()}
    some = {model: values[kept] for model, values in GRADES.items()}
    expected = sampled(some, **options, **bounds)
    assert found.n_samples == 58
    assert "of 58 of 60 items, graded for all models" in str(found)
    same_intervals(found, expected)
    same_intervals(found.differences(), expected.differences())


LACKING = {"A": [5, np.nan, 2.0], "B": [1, 2, np.nan]}


def lacking(rng, n, share, bounds=None):
    """Grades of four models on items of different ease, some of them missing."""
    ease = rng.normal(size=n)
    skills = {"A": 0.0, "B": 0.0, "C": 0.5, "D": 1.0}
    grades = {m: s + ease + rng.normal(size=n) / 2 for m, s in skills.items()}
    for model, values in grades.items():
        if bounds:
            values[:] = np.round(1 / (1 + np.exp(-values)), 1)
        values[rng.random(n) < (share if model != "D" else 0)] = np.nan
    return grades


@few_items
@pytest.mark.parametrize("options", [{}, {"bounds": (0, 1)}, {"groups": PASSAGES}])
def test_pairs_are_compared_on_the_items_of_both(options):
    scores = lacking(np.random.default_rng(0), 60, 0.3, options.get("bounds"))
    report = grades_report(scores, missing_grades="pairwise", **options)
    assert "pairs compared on items graded for both" in str(report)
    found = report.individual().differences()
    for _, a, b in found:
        both = ~np.isnan(scores[a]) & ~np.isnan(scores[b])
        named = {k: v[both] for k, v in options.items() if k == "groups"}
        of_both = grades_report(
            {m: scores[m][both] for m in (a, b)}, **(options | named)
        ).differences()
        expected, got = (each["mean", a, b] for each in (of_both, found))
        assert got.n_samples == both.sum()
        assert float(got) == pytest.approx(float(expected), abs=1e-12)
        rel = 0.03 if named else 1e-6  # as of all clusters, or of those of both
        np.testing.assert_allclose(
            got.standard_error, expected.standard_error, rtol=rel
        )
        if not named:
            limits = expected.confidence_interval()
            np.testing.assert_allclose(got.confidence_interval(), limits, atol=1e-6)
    for model, values in scores.items():
        assert float(report[model, "mean"]) == pytest.approx(np.nanmean(values))


def test_a_pair_without_an_item_of_both_is_an_error():
    scores = {"A": [1, 0, np.nan], "B": [np.nan, np.nan, 1], "C": [1, 0, 1]}
    report = grades_report(scores, missing_grades="pairwise")
    with pytest.raises(ValueError, match=r"both models .* no such item for A and B"):
        report.differences()


@pytest.mark.slow
@few_items
def test_coverage_of_pairs_on_the_items_of_both():
    """Differences and ranks, all at once, of a third of the grades missing."""
    draws, truths = 150, {"A": 0, "B": 0, "C": 0.5, "D": 1}
    covered = np.zeros((draws, 2), dtype=bool)
    for draw in range(draws):
        scores = lacking(np.random.default_rng(draw), 100, 1 / 3)
        report = grades_report(scores, missing_grades="pairwise", method="delta")
        differences = report.differences()
        covered[draw, 0] = all(
            each.low <= truths[a] - truths[b] <= each.high
            for (_, a, b), each in differences.items()
        )
        ranks = report.ranks()
        wanted = {"A": (3, 4), "B": (3, 4), "C": (2, 2), "D": (1, 1)}
        covered[draw, 1] = all(
            ranks[m, "mean"].low <= low and high <= ranks[m, "mean"].high
            for m, (low, high) in wanted.items()
        )
    error = np.sqrt(0.05 * 0.95 / draws)
    assert (covered.mean(axis=0) > 0.95 - 3 * error).all()
    assert covered[:, 0].mean() < 1


def test_many_pairs_of_missing_grades_are_an_error():
    rng = np.random.default_rng(0)
    scores = {f"{k}": rng.normal(size=20) for k in range(66)}
    scores["0"][0] = np.nan
    report = grades_report(scores, missing_grades="pairwise")
    with pytest.raises(ValueError, match=r"at most 2,048 differences, got 2,145"):
        report.differences()
    assert len(report.differences(control="0")) == 65


def test_sample_size_of_a_mean():
    report = sampled({"A": GRADES["A"]}, method="delta")
    spread = means_of(GRADES)["A"].std(ddof=0)
    n = report.sample_size(0.01)
    assert n == int(np.ceil((stats.norm.isf(0.025) * spread / 0.01) ** 2))


@pytest.mark.parametrize("largest", [1e-100, 1e100])
def test_scores_of_any_size(largest):
    report = sampled({"A": GRADES["A"] * largest, "B": GRADES["B"] * largest})
    unit = sampled(GRADES)
    np.testing.assert_allclose(report.estimates, unit.estimates * largest)
    low, high = report["A", "mean"].low, report["A", "mean"].high
    expected = unit["A", "mean"].low, unit["A", "mean"].high
    np.testing.assert_allclose([low / largest, high / largest], expected)


def test_many_distinct_scores_have_hall():
    scores = np.random.default_rng(3).random(5000)
    assert sampled(scores, bounds=(0, 1))["grades", "mean"].method == "hall"


@pytest.mark.parametrize(
    "scores, options, error",
    [
        ({"A": [1, 2], "B": [1]}, {}, r"\['B'\] must have a row for each of the 2"),
        (LACKING, {}, r"'A' \(1\) and 'B' \(1\)\. .*--missing.* 1 of 3.*proxy=judge"),
        (
            {"A": [1, np.nan], "B": [np.nan, 1]},
            {"missing_grades": "drop"},
            "an item graded for all models",
        ),
        (LACKING, {"missing_grades": "zero"}, "missing_grades must be one of .*'zero'"),
        (LACKING, {"missing_grades": np.nan}, "missing_grades must be one of .*number"),
        (
            LACKING,
            {"missing_grades": 0, "bounds": (1, 5)},
            "missing_grades must be within the bounds of grades, 1 to 5, got 0",
        ),
        ([1, np.inf], {}, "grades must contain finite numbers, got inf in row 1"),
        (np.ones((2, 2, 2)), {}, r"must have shape \(n_items,\), or"),
        ([0.2, 1.5], {"bounds": (0, 1)}, "numbers from 0 to 1, got 1.5"),
        ([[0.2, 1.5], [0, 0]], {"bounds": (0, 1)}, "numbers from 0 to 1, got 1.5"),
        ([1e130, 1], {}, "numbers from -1e"),
        ([0, 1], {"bounds": (1, 0)}, "bounds must be the smallest and the largest"),
        (
            [0, 1],
            {"bounds": (0, 1 + 1j)},
            "bounds must be the smallest and the largest",
        ),
        ([0, 1], {"method": "score"}, "or a mean of bounded grades"),
        ([0, 1], {"higher_is_better": "no"}, "higher_is_better must be True or False"),
        ([0, 1], {"samples": "rows"}, "samples must be one of .*independent.*, got 'r"),
        ([0, 1], {"samples": "runs"}, "^grades must have at least two columns .*(2,)"),
        (
            {"A": {"a": [0, 1], "b": [0, 1]}, "B": {"a": [0, 1]}},
            {},
            r"grades\['B'\] must have the same scorers as",
        ),
    ],
)
def test_wrong_input(scores, options, error):
    with pytest.raises(ValueError, match=error):
        grades_report(scores, **{"samples": "independent", **options})


@pytest.mark.parametrize("scores", [GRADES["A"], GRADES, GRADES["A"].tolist()])
def test_several_columns_need_a_word(scores):
    """Samples of each item, runs and models are other columns."""
    name = r"grades\['A'\]" if isinstance(scores, dict) else "grades"
    shape = r"\(60, 4\).*'independent'.*runs"
    message = rf"^{name} must have one column unless samples= .*{shape}"
    models = "; to report on several models, pass them by name"
    with pytest.raises(ValueError, match=message) as caught:
        grades_report(scores)
    assert (models in str(caught.value)) == (name == "grades")


@pytest.mark.parametrize("k", [1, 7, 10, 1000])
def test_pass_at_k_counts_sets_with_a_correct_sample(k):
    totals = [10, 13, 200] if k <= 10 else [10**6]
    n, correct = np.meshgrid(totals, [0, 1, 4, 10])
    expected = [
        1 - math.comb(n - c, k) / math.comb(n, k)
        for n, c in zip(n.ravel().tolist(), correct.ravel().tolist(), strict=True)
    ]
    np.testing.assert_allclose(pass_at_k(n, correct, k).ravel(), expected, rtol=1e-11)
    assert isinstance(pass_at_k(10**6, 3, k), float)


@pytest.mark.parametrize(
    "arguments, error",
    [
        ((5, 2, 6), "k must be .* 1 to 5, got 6; the smallest of n_samples is 5"),
        ((5, 2, 0), "k must be a whole number"),
        ((5, 2, True), "k must be a whole number"),
        ((5, 6, 2), "n_correct must be between 0 and n_samples"),
        ((5, -1, 2), "n_correct must be between 0 and n_samples"),
        ((5.5, 1, 2), "n_samples must contain whole numbers"),
        ((2**70, 1, 2), "n_samples must contain whole numbers up to 2"),
        (([[]], [[]], 1), "n_samples must not be empty"),
        (([5, 6], [], 1), "n_correct must not be empty"),
        (([5, 6], [1, 1, 1], 1), r"must have the same shape, .* \(2,\) and \(3,\)"),
    ],
)
def test_pass_at_k_of_wrong_numbers(arguments, error):
    with pytest.raises(ValueError, match=error):
        pass_at_k(*arguments)


def long_form(scores, **columns):
    """A row for each sample, in random order."""
    rows = pd.concat(
        [
            pd.DataFrame(values)
            .rename_axis("item")
            .assign(**columns)
            .reset_index()
            .melt(["item", *columns], var_name="epoch", value_name="score")
            .assign(model=model)
            for model, values in scores.items()
        ]
    )
    return rows.sample(frac=1, random_state=0)


LONG = {"model": "model", "item": "item", "sample": "epoch"}


@few_items
def test_a_row_for_each_sample():
    polars = pytest.importorskip("polars")
    scores = {model: values.copy() for model, values in GRADES.items()}
    scores["A"][3, 1:] = np.nan
    columns = {"passage": np.arange(60) // 2, "w": 1.0 + np.arange(60) % 3}
    columns["early"] = np.arange(60) < 30
    drawn = {"groups": columns["passage"], "sample_weight": columns["w"]}
    expected = unequal(scores, by={"early": columns["early"]}, **drawn)
    frame = long_form(scores, **columns)
    lazy = polars.LazyFrame(frame.to_dict("list"))
    named = {"groups": "passage", "sample_weight": "w", "by": "early"}
    named |= LONG | {"missing_grades": "drop"}
    for data in (frame, lazy):
        same_intervals(grades_report("score", data=data, **named), expected)


def test_rows_that_are_not_there_are_missing_items():
    pytest.importorskip("narwhals")
    frame = long_form(GRADES)
    without = frame[(frame["model"] != "B") | (frame["item"] >= 4)]
    found = grades_report("score", data=without, missing_grades="drop", **LONG)
    same_intervals(found, sampled({k: v[4:] for k, v in GRADES.items()}))
    fewer = {**GRADES, "A": np.where(np.arange(4) > 2, np.nan, GRADES["A"])}
    found = grades_report("score", data=long_form(fewer).dropna(), **LONG)
    same_intervals(found, unequal(fewer))
    found = grades_report("score", data=frame[frame["model"] == "A"], item="item")
    same_intervals(found, sampled(GRADES["A"]))


@pytest.mark.parametrize(
    "change, options, error",
    [
        ({}, {"item": None}, "item must name a column of data, got None"),
        ({}, {"model": ["model"]}, "model must name a column of data, got"),
        ({}, {"item": "question"}, "item must name a column of data, which has"),
        ({"epoch": 0}, {}, "sample must differ .* model A, item .* and sample 0"),
        ({"passage": range(480)}, {"groups": "passage"}, "groups must be constant in"),
        ({"score": 2.0}, {"bounds": (0, 1)}, "grades must contain numbers from 0 to 1"),
        ({"model": None}, {}, "model must have a value in every row"),
        ({}, {"data": None}, "data must be given for model and sample"),
        ({}, {"grades": None}, "grades must name columns of data, .*, got None"),
        (
            {"by": "judge", "other": 0},
            {"grades": ["score", "other"], "scorer": "by"},
            "grades must name columns of data, and a single column if",
        ),
        (
            {"by": ["judge", None] * 240},
            {"scorer": "by"},
            "scorer must have a value in every row",
        ),
        ({}, {"samples": "independent"}, "^samples must not be"),
    ],
)
def test_wrong_frames(change, options, error):
    pytest.importorskip("narwhals")
    frame = long_form(GRADES).assign(**change)
    with pytest.raises((ValueError, TypeError), match=error):
        grades_report(**{"grades": "score", "data": frame, **LONG, **options})


def two_levels(n_items, n_samples, rng):
    """Scores of a standard deviation of 2 between and of 3 within items."""
    items = rng.normal(0, 2, (n_items, 1))
    return items + rng.normal(0, 3, (n_items, n_samples))


def test_variance_components_are_those_of_a_mixed_model():
    """At equal numbers of samples they are those of restricted likelihood."""
    model = pytest.importorskip("statsmodels.regression.mixed_linear_model")
    scores = two_levels(40, 3, np.random.default_rng(5))
    items = np.repeat(np.arange(40), 3)
    fitted = model.MixedLM(scores.ravel(), np.ones((120, 1)), groups=items).fit()
    found = sampled(scores).variance_components["grades", "mean"]
    assert found.within == pytest.approx(fitted.scale, rel=1e-4)
    assert found.between == pytest.approx(fitted.cov_re.item(), rel=1e-3)


def adaptive(rng):
    """Ten samples of items of variance 16, and two of those of variance 1."""
    scores = rng.normal(0, 2, (60, 1)) + rng.normal(size=(60, 10))
    varies = np.arange(60) % 3 == 0
    scores[varies] += rng.normal(0, math.sqrt(15), (20, 10))
    scores[~varies, 2:] = np.nan
    return scores


def test_items_that_vary_most_may_have_most_samples():
    """Pooled over samples the variance within items would be 13; mean of 200 pilots."""
    rng = np.random.default_rng(10)
    reports = [unequal(adaptive(rng)) for _ in range(200)]
    found = [report.variance_components["grades", "mean"] for report in reports]
    between, within = np.mean(found, axis=0)
    assert within == pytest.approx(16 / 3 + 2 / 3, rel=0.03)
    assert between == pytest.approx(4, abs=0.25)


def test_plan_of_items_of_unequal_variance_and_weight():
    """The variance of the mean of new samples, by that of each item."""
    scores = adaptive(np.random.default_rng(11))
    weights = 1.0 + np.arange(60) % 2
    report = unequal(scores, sample_weight=weights)
    share = weights / weights.sum()
    variances = np.nanvar(scores, axis=1, ddof=1)
    taken = (~np.isnan(scores)).sum(axis=1)
    total = report["grades", "mean"].standard_error ** 2
    z = stats.norm.isf(0.025)
    for m in (1, 5):
        variance = total + (share**2 * variances) @ (1 / m - 1 / taken)
        expected = math.ceil((z / 0.3) ** 2 * 60 * variance)
        assert report.sample_size(0.3, samples_per_item=m) == expected


def test_sample_size_in_clusters_keeps_their_design_effect():
    scores = two_levels(60, 4, np.random.default_rng(9))
    report = sampled(scores, groups=PASSAGES, sample_weight=1 + PASSAGES % 2)
    error = report["grades", "mean"].standard_error
    expected = math.ceil((stats.norm.isf(0.025) * error / 0.1) ** 2 * 60)
    assert report.sample_size(0.1) == expected
    assert report.sample_size(0.1, samples_per_item=4) == expected
    assert report.sample_size(0.1, samples_per_item=2) > expected


def test_planned_numbers_give_the_width():
    """The median half width of 50 reports; its Monte Carlo error is about 1 %."""
    rng = np.random.default_rng(8)
    pilot = sampled(two_levels(2000, 2, rng))
    n = pilot.sample_size(0.4, samples_per_item=5)
    limits = [sampled(two_levels(n, 5, rng))["grades", "mean"] for _ in range(50)]
    half_widths = [(each.high - each.low) / 2 for each in limits]
    assert np.median(half_widths) == pytest.approx(0.4, rel=0.05)


def test_wrong_plans():
    with pytest.raises(ValueError, match="must be a whole number of at least 1"):
        sampled(GRADES).sample_size(0.01, samples_per_item=1.5)
    message = "mean of A must have a positive variance in the pilot"
    with pytest.raises(ValueError, match=message):
        sampled(means_of(GRADES)).sample_size(0.01, samples_per_item=2)


EXACT = {model: (values > 0.8) * 1.0 for model, values in means_of(GRADES).items()}
WORDS = {"A": 50 + 10 * RNG.normal(size=60), "B": 30 + 10 * RNG.normal(size=60)}
SCORED = {
    model: {"exact": EXACT[model], "words": WORDS[model], "judge": GRADES[model]}
    for model in GRADES
}
BY_SCORER = {
    "bounds": {"exact": (0, 1), "judge": [0, 1]},
    "higher_is_better": {"words": False},
}


def scored_report(**options):
    return grades_report(SCORED, **({"samples": "independent"} | BY_SCORER | options))


def test_each_scorer_has_the_estimates_of_a_report_of_it_alone():
    report = scored_report(confidence_level=0.9)
    assert list(report) == [
        (model, scorer) for model in GRADES for scorer in ("exact", "words", "judge")
    ]
    alone = {
        "exact": grades_report(EXACT, bounds=(0, 1)),
        "words": grades_report(WORDS, higher_is_better=False),
        "judge": sampled(GRADES, bounds=(0, 1)),
    }
    for model, scorer in report:
        found = report.select(models=model, metrics=scorer)[model, scorer]
        expected = alone[scorer].select(models=model).at(0.9)[model, "mean"]
        assert float(found) == float(expected)
        assert found.standard_error == expected.standard_error
        assert (found.low, found.high) == (expected.low, expected.high)
        assert found.method == expected.method == {"words": "hall"}.get(scorer, "score")


def test_scorers_are_correlated_as_their_items():
    report = scored_report(method="delta")
    columns = [
        np.asarray(values).reshape(60, -1).mean(axis=1)
        for by_scorer in SCORED.values()
        for values in by_scorer.values()
    ]
    np.testing.assert_allclose(report.correlation, np.corrcoef(columns), atol=1e-12)


def test_each_scorer_has_a_direction():
    report = scored_report()
    assert report.differences()["words", "A", "B"].low > 0
    assert "On words, A is worse than B." in report.findings(by="differences")
    for scorer, models in ("words", ["B", "A"]), ("judge", ["A", "B"]):
        assert report.best(scorer).models[0] == models[0]
        assert report.ranks(scorer).to_dict()["model"] == models
    gate = report.requirements({"words": ("<=", 35), "exact": (">=", 0.1)})
    assert gate.met_by == ["B"]


def test_plans_by_scorer():
    report = scored_report()
    within = report.variance_components["A", "judge"].within
    assert within == pytest.approx(GRADES["A"].var(axis=1, ddof=1).mean())
    assert math.isnan(report.variance_components["A", "words"].within)
    few = report.sample_size({"judge": 0.05}, samples_per_item=4)
    assert few < report.sample_size({"judge": 0.05}, samples_per_item=1)
    chosen = report.select(metrics="words", models="A")
    assert list(chosen.variance_components) == [("A", "words")]


def test_methods_by_scorer():
    report = scored_report(method={"words": "delta", "judge": None, "*": "logit"})
    methods = {scorer: report["A", scorer].method for scorer in SCORED["A"]}
    assert methods == {"exact": "logit", "words": "delta", "judge": "score"}


def test_a_data_frame_of_each_model_has_a_column_for_each_scorer():
    two = {model: {k: v[k] for k in ("exact", "words")} for model, v in SCORED.items()}
    frames = {model: pd.DataFrame(columns) for model, columns in two.items()}
    frames["B"] = frames["B"][["words", "exact"]]
    assert grades_report(frames).to_dict() == grades_report(two).to_dict()
    with pytest.raises(ValueError, match=r"grades\['A'\] must be an array, .*samples="):
        sampled(frames)
    frames["B"].index = frames["B"].index[::-1]
    message = r"grades\['B'\]\['exact'\] must have the same ind"
    with pytest.raises(ValueError, match=message):
        grades_report(frames)


@few_items
@pytest.mark.parametrize("form", ["long", "columns", "renamed"])
def test_scorers_in_a_row_for_each_sample(form):
    pytest.importorskip("narwhals")
    scorers = {"judge": GRADES, "lenient": {k: v**0.5 for k, v in GRADES.items()}}
    expected = sampled(
        {k: {name: grades[k] for name, grades in scorers.items()} for k in GRADES},
        bounds={"judge": (0, 1)},
    )
    tables = {name: long_form(grades) for name, grades in scorers.items()}
    if form == "long":
        data = pd.concat([t.assign(by=name) for name, t in tables.items()])
        found = {"grades": "score", "scorer": "by"}
    else:
        data = tables["judge"].assign(other=lambda t: t["score"] ** 0.5)
        found = {"grades": {"judge": "score", "lenient": "other"}}
        if form == "columns":
            names = {"score": "judge", "other": "lenient"}
            data, found = data.rename(columns=names), {"grades": ["judge", "lenient"]}
    report = grades_report(**found, data=data, bounds={"judge": (0, 1)}, **LONG)
    same_intervals(report, expected)


def test_items_that_a_scorer_lacks_are_left_out_for_all():
    words = {model: values.copy() for model, values in WORDS.items()}
    words["B"][[2, 7]] = np.nan
    scores = {k: {"exact": EXACT[k], "words": words[k]} for k in GRADES}
    message = r"no grades of some items for 'B' by 'words' \(2\)"
    with pytest.raises(ValueError, match=message):
        grades_report(scores)
    report = grades_report(scores, missing_grades="drop")
    kept = np.setdiff1d(np.arange(60), [2, 7])
    assert float(report["A", "exact"]) == pytest.approx(EXACT["A"][kept].mean())


@pytest.mark.parametrize(
    "change, error",
    [
        ({"bounds": {"exact": (0, 1), "other": (0, 1)}}, "bounds must be .*'other'"),
        ({"bounds": {"words": (0, 1)}}, "grades must contain .* for 'A' by 'words'"),
        ({"bounds": {"exact": 1}}, "bounds must be the smallest and the largest"),
        ({"higher_is_better": {"wrods": False}}, "higher_is_better must be .*'wrods'"),
        ({"method": {"wrods": "hall"}}, r"method must be .*'wrods'"),
        ({"method": "score"}, "or a mean of bounded grades"),
        ({"samples": None}, r"grades\['A'\]\['judge'\] must have one column"),
    ],
)
def test_wrong_options_by_scorer(change, error):
    with pytest.raises(ValueError, match=error):
        scored_report(**change)


def widths(report):
    return [np.diff(each.confidence_interval())[0] for each in report.values()]


def test_the_header_says_what_unseen_ends_of_the_bounds_cost():
    rng = np.random.default_rng(0)
    grades = {model: rng.beta(89.1, 9.9, 50) for model in "AB"}  # Dice, .90 +- .03
    one = grades_report(grades["A"], bounds=(0, 1))
    hall = grades_report(grades["A"], bounds=(0, 1), method="hall")
    ratio = widths(one)[0] / widths(hall)[0]
    assert ratio > 2
    said = 'up to {:.1f} times as wide as with method="hall", '
    assert said.format(ratio) in str(one)
    differences = grades_report(grades, bounds=(0, 1)).differences()
    by_hall = grades_report(grades, bounds=(0, 1)).differences(method="hall")
    ratio = widths(differences)[0] / widths(by_hall)[0]
    assert ratio > 2
    assert said.format(ratio) in str(differences)
    seen = grades_report(np.append(grades["A"], [0, 1]), bounds=(0, 1))
    for narrow in (hall, by_hall, seen, grades_report(grades["A"], bounds=(0.8, 1))):
        assert "to allow for" not in str(narrow)


# Items of several files, and models that look like items

QUESTIONS = np.array([f"q{k}" for k in range(40)])
FIRST, SECOND = np.random.default_rng(1).random((2, 40))
SHUFFLE = np.random.default_rng(2).permutation(40)


def of_files(**columns):
    """Frames of two files, of which the second has another order."""
    first = pd.DataFrame({"question": QUESTIONS, "grade": FIRST})
    second = pd.DataFrame({"question": QUESTIONS, "grade": SECOND} | columns)
    return {"A": first, "B": second.iloc[SHUFFLE].reset_index(drop=True)}


def by_index(frame):
    return frame.set_index("question")["grade"]


@pytest.mark.parametrize(
    "report",
    [
        lambda files: grades_report(files, item="question"),
        lambda files: grades_report(
            {model: frame.to_dict("series") for model, frame in files.items()},
            item="question",
        ),
        lambda files: grades_report({k: by_index(each) for k, each in files.items()}),
        lambda files: grades_report(
            {model: frame.set_index("question") for model, frame in files.items()}
        ),
        lambda files: grades_report(
            "grade",
            data=pd.concat(files, names=["model"]).reset_index("model"),
            model="model",
            item="question",
        ),
    ],
    ids=["column", "mapping", "series", "index", "below one another"],
)
def test_items_of_files_in_another_order_are_matched(report):
    expected = grades_report({"A": FIRST, "B": SECOND}).differences()
    found = report(of_files()).differences()
    assert found.estimates == pytest.approx(expected.estimates, rel=1e-12)
    assert widths(found) == pytest.approx(widths(expected), rel=1e-9)


def test_columns_of_items_are_in_the_order_of_the_first_model():
    groups = np.arange(40) // 2
    expected = grades_report({"A": FIRST, "B": SECOND}, groups=groups).differences()
    found = grades_report(of_files(), item="question", groups=groups).differences()
    assert widths(found) == pytest.approx(widths(expected), rel=1e-9)
    indexed = {model: by_index(frame) for model, frame in of_files().items()}
    shuffled = pd.Series(groups, QUESTIONS)[::-1]
    message = r"groups must have the same index as grades\['A'\]"
    with pytest.raises(ValueError, match=message):
        grades_report(indexed, groups=shuffled)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            of_files(question=[*QUESTIONS[1:], "x"]),
            "not all models have: 'q0' and 'x'; use NaN",
        ),
        (of_files(question=np.repeat(QUESTIONS[:20], 2)), "40 rows of 20 items. If"),
        (of_files(question=[*QUESTIONS[:-1], None]), "must name an item in every row"),
        ({"A": FIRST}, r"item must name a column of grades\['A'\], or of data, got 'q"),
    ],
)
def test_items_that_do_not_match(files, message):
    with pytest.raises(ValueError, match=message):
        grades_report(files, item="question")


@pytest.mark.parametrize("samples", [None, "independent"])
@pytest.mark.parametrize("several", [list, tuple, lambda x: [pd.Series(y) for y in x]])
def test_a_list_of_models_is_not_taken_for_items(several, samples):
    message = (
        "list of 2 with 40 numbers each; to report on several models, pass them by"
    )
    with pytest.raises(ValueError, match=message):
        grades_report(several([FIRST, SECOND]), samples=samples)
    of_two_items = np.array([FIRST, SECOND])
    assert sampled(of_two_items).n_samples == 2
