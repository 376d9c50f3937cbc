"""Numbers of harnesses that are no means of grades, and samples that are missing."""

import copy
import functools
import gzip
import json
import math
import operator
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from test_logs import check_damaged, write_log

from skci import grades_report, logs
from skci.cli.main import main
from skci.exceptions import IncompleteLogWarning

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

REFERENCE = Path(__file__).parent / "reference" / "logs"
(HISTORY, _) = sorted(REFERENCE.glob("inspect_ai/*.json"))
PROMPTFOO = REFERENCE / "promptfoo" / "results.json"
DEEPEVAL = REFERENCE / "deepeval" / "large" / ".deepeval" / ".latest_test_run.json"
SWEBENCH = REFERENCE / "swebench" / "large.first.json"
STAMP = "2026-01-16T15-23-47.285735"
N = 60
RNG = np.random.default_rng(0)
LOSS = {model: RNG.gamma(2, 1.5, N) for model in ("A", "B")}
WORDS = RNG.integers(3, 90, N).tolist()
FOLLOWED = {
    model: [(RNG.random(n) < 0.6).tolist() for n in RNG.integers(1, 5, N)]
    for model in ("A", "B")
}


def samples(folder, task, **metrics):
    """Write samples of lm-evaluation-harness, with a list of values by metric."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"samples_{task}_{STAMP}.jsonl"
    columns = zip(*metrics.values(), strict=True)
    fixed = {"doc": {"text": "t"}, "resps": [["x"]], "filter": "none"}
    lines = [
        fixed
        | {"doc_id": k, "metrics": [*metrics]}
        | dict(zip(metrics, values, strict=True))
        for k, values in enumerate(columns)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def results(folder, **members):
    """Write results beside samples."""
    content = {"results": {}, "versions": {}, "model_name": folder.name} | members
    (folder / f"results_{STAMP}.json").write_text(json.dumps(content))


def pairs(model):
    """Log-likelihoods and numbers of words of documents."""
    return [[-x * n, n] for x, n in zip(LOSS[model], WORDS, strict=True)]


def limits(estimate):
    return estimate.low, estimate.high


def ratio_and_error(sums, sizes):
    """A ratio of sums and its standard error by the delta method."""
    sums, sizes = np.array(sums, dtype=float), np.array(sizes, dtype=float)
    ratio = sums.sum() / sizes.sum()
    influence = (sums - ratio * sizes) / sizes.mean()
    return ratio, influence.std(ddof=1) / math.sqrt(len(sums))


# Perplexities and their kin, lists of booleans


def test_a_perplexity_is_exp_of_a_mean(tmp_path):
    """Hall's limits of the mean loss, transformed, are those of the perplexity."""
    for model, loss in LOSS.items():
        samples(tmp_path / model, "lambada", perplexity=(-loss).tolist())
    report = logs.read(tmp_path).report()
    of_losses = grades_report(LOSS, higher_is_better=False)
    for model, loss in LOSS.items():
        found, mean = report[model, "perplexity"], of_losses[model, "mean"]
        assert found == pytest.approx(math.exp(loss.mean()), rel=1e-12)
        error = mean.standard_error * math.exp(loss.mean())
        assert found.standard_error == pytest.approx(error, rel=1e-9)
        assert_allclose(limits(found), np.exp(limits(mean)), rtol=1e-6)
    difference = report.differences()["perplexity", "A", "B"]
    exact = np.exp(LOSS["A"].mean()) - np.exp(LOSS["B"].mean())
    assert difference == pytest.approx(exact, rel=1e-9)
    terms = [x * math.exp(x.mean()) for x in LOSS.values()]
    error = np.std(terms[0] - terms[1], ddof=1) / math.sqrt(N)
    assert difference.standard_error == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("name", ["word_perplexity", "byte_perplexity"])
def test_a_perplexity_by_word_is_exp_of_a_ratio_of_sums(name, tmp_path):
    for model in LOSS:
        samples(tmp_path / model, "wikitext", **{name: pairs(model)})
    rows = logs.read(tmp_path)
    assert rows["size"].tolist() == WORDS * 2
    assert_allclose(rows["grade"], np.concatenate([*LOSS.values()]))
    report = rows.report()
    for model in LOSS:
        lls, words = np.transpose(pairs(model))
        ratio, error = ratio_and_error(-lls, words)
        assert report[model, name] == pytest.approx(math.exp(ratio), rel=1e-12)
        found = report[model, name].standard_error
        assert found == pytest.approx(error * math.exp(ratio), rel=1e-9)


def test_bits_per_byte_are_a_ratio_of_sums(tmp_path):
    samples(tmp_path / "A", "wikitext", bits_per_byte=pairs("A"))
    found = logs.read(tmp_path).report(method="delta")["A", "bits_per_byte"]
    lls, size = np.transpose(pairs("A"))
    ratio, error = ratio_and_error(-lls / math.log(2), size)
    assert found == pytest.approx(ratio, rel=1e-12)
    expected = ratio + np.array([-1, 1]) * norm.ppf(0.975) * error
    assert_allclose(limits(found), expected, rtol=1e-9)


def test_lists_of_booleans_are_a_ratio_of_sums(tmp_path):
    for model, lists in FOLLOWED.items():
        samples(
            tmp_path / model,
            "ifeval",
            prompt_level_strict_acc=[*map(all, lists)],
            inst_level_strict_acc=lists,
        )
    report = logs.read(tmp_path).report()
    assert {*report.metrics} == {"prompt_level_strict_acc", "inst_level_strict_acc"}
    for model, lists in FOLLOWED.items():
        ratio, error = ratio_and_error([*map(sum, lists)], [*map(len, lists)])
        found = report[model, "inst_level_strict_acc"]
        assert found == pytest.approx(ratio, rel=1e-12)
        assert found.standard_error == pytest.approx(error, rel=1e-9)
        assert 0 <= found.low < ratio < found.high <= 1
        mean = report[model, "prompt_level_strict_acc"]
        assert mean == pytest.approx(np.mean([*map(all, lists)]))
    table = report.to_dict()
    methods = dict(zip(table["metric"], table["method"], strict=True))
    assert methods["prompt_level_strict_acc"] == "score"


def test_directions(tmp_path):
    """A lower perplexity is better, and what the results say of other metrics."""
    for model, loss in (("good", LOSS["A"]), ("bad", LOSS["B"] + 4)):
        folder = tmp_path / model
        acc = (loss < 5).tolist()
        samples(folder, "t", perplexity=(-loss).tolist(), edits=loss.tolist(), acc=acc)
        better = {"t": {"edits": False, "acc": True, "perplexity": None}}
        results(folder, higher_is_better=better)
    rows = logs.read(tmp_path)
    differences = rows.report().differences()
    wanted = [f"On {metric}, bad is worse than good." for metric in rows.scorers]
    assert sorted(differences.findings()) == sorted(wanted)
    # What the caller says comes first.
    for better in ({"edits": True}, True):
        report = rows.select(scorers="edits").report(higher_is_better=better)
        assert report.differences().findings() == ["On edits, good is worse than bad."]


def test_missing_grades_of_ratios(tmp_path):
    lists = {"A": FOLLOWED["A"], "B": [None, *FOLLOWED["B"][1:]]}
    for model, values in lists.items():
        samples(tmp_path / model, "ifeval", inst_level_acc=values)
    rows = logs.read(tmp_path)
    with pytest.raises(
        ValueError, match=r"no grades of some items for 'B' by 'inst_level"
    ):
        rows.report()
    with pytest.raises(ValueError, match=r"missing_grades must be 'error', 'drop' or"):
        rows.report(missing_grades=0)
    dropped = rows.report(missing_grades="drop")
    assert f"{N - 1} of {N} items" in str(dropped)
    by_pair = rows.report(missing_grades="pairwise")
    assert "1 grades missing" in str(by_pair)
    for report, start in ((dropped, 1), (by_pair, 0)):
        kept = FOLLOWED["A"][start:]
        expected = sum(map(sum, kept)) / sum(map(len, kept))
        assert report["A", "inst_level_acc"] == pytest.approx(expected, rel=1e-12)
    pair = ("inst_level_acc", "A", "B")
    expected = dropped.differences()[pair]
    assert by_pair.differences()[pair] == pytest.approx(expected, rel=1e-9)


def test_ratios_in_subgroups_and_with_clusters(tmp_path):
    path = samples(tmp_path / "A", "wikitext", word_perplexity=pairs("A"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for k, line in enumerate(lines):
        line["doc"] = {"page": f"p{k // 5}"}
    path.write_text("\n".join(map(json.dumps, lines)))
    rows = logs.read(tmp_path, groups="page")
    report = rows.report()
    assert report.n_groups == N // 5
    lls, words = np.transpose(pairs("A")).reshape(2, -1, 5).sum(axis=2)
    ratio, error = ratio_and_error(-lls, words)
    found = report["A", "word_perplexity"]
    assert found == pytest.approx(math.exp(ratio), rel=1e-12)
    assert found.standard_error == pytest.approx(error * math.exp(ratio), rel=1e-9)
    by_page = rows.report(by="group").estimates
    assert_allclose(sorted(by_page), sorted(np.exp(-lls / words)), rtol=1e-12)


def test_a_perplexity_has_no_bounds(tmp_path):
    samples(tmp_path / "A", "t", perplexity=(-LOSS["A"]).tolist(), acc=[0.25] * N)
    rows = logs.read(tmp_path)
    with pytest.raises(ValueError, match="bounds must not be given for 'perplexity'"):
        rows.report(bounds=(0, 1))
    assert rows.report(bounds={"acc": (0, 1)})["A", "acc"] == 0.25


def test_ratios_are_of_one_task(tmp_path):
    """The harness takes the mean over tasks of their numbers, each with its error."""
    for task in ("lambada", "wikitext"):
        loss = (-LOSS["A"]).tolist()
        samples(tmp_path / "A", task, perplexity=loss, acc=[0.0, 1.0] * (N // 2))
    rows = logs.read(tmp_path)
    message = (
        r"^scorers of several tasks must be means .*'perplexity' of task 'lambada'"
    )
    with pytest.raises(ValueError, match=message):
        rows.report()
    assert rows.select(scorers="acc").report()["A", "acc"] == 0.5
    one = rows.select(tasks="wikitext", scorers="perplexity").report()
    assert one["A", "perplexity"] == pytest.approx(math.exp(LOSS["A"].mean()))
    with pytest.raises(ValueError, match=r"^scorers chosen by task must be means over"):
        rows.select(scorers={"lambada": "perplexity", "wikitext": "acc"})


# Refused by name

OF_A_CORPUS = {
    "bleu": ["the reference", "the answer"],
    "mcc": [True, False],
    "f1": [1, 0],
    "brier_score": [1, [0.2, 0.8]],
    "acc_all": [True, {"idx": 1}],
    "exact": [{"id": "a", "prediction_text": "x"}, {"id": "a"}],
    "bypass": 999,
    "word_perplexity": -3.5,
    "perplexity": [-3.5, 7],
}


@pytest.mark.parametrize("name", OF_A_CORPUS)
def test_what_is_computed_from_a_corpus_is_refused(name, tmp_path):
    samples(tmp_path / "m", "t", acc=[1.0, 0.0] * 5, **{name: [OF_A_CORPUS[name]] * 10})
    rows = logs.read(tmp_path)
    assert {*rows.scorers} == {"acc", name}
    message = (
        rf"^scorers must have a number for each sample, got '{name}' of task 't': the "
        r"harness computes one number from all documents at once.*; "
        r"select scorers=\['acc'\] "
        r"\(in a shell --scorer acc\)$"
    )
    for chosen in (rows, rows.select(models="m")):
        with pytest.raises(ValueError, match=message):
            chosen.report()
    with pytest.raises(ValueError, match=f"got '{name}' of task 't'"):
        rows.select(scorers=name).report()
    assert rows.select(scorers="acc").report()["m", "acc"] == 0.5


def test_a_number_of_the_results_that_is_no_mean_is_refused(tmp_path):
    values = [1.0, 2.0, 6.0]
    samples(tmp_path, "t", middle=values, average=values, pass_rate=[1, 0, 0])
    printed = {"middle,none": 2.0, "average,none": 3.0, "pass_rate,none": 1 / 3}
    results(tmp_path, results={"t": printed | {"middle_stderr,none": "N/A"}})
    rows = logs.read(tmp_path)
    place = "in .*samples_t.*.jsonl the harness prints 2 for '.*'"
    message = f"'middle' of task 't': {place}, and a mean .* is 3; select"
    with pytest.raises(ValueError, match=message):
        rows.report()
    assert rows.select(scorers=["average", "pass_rate"]).report().metrics


@pytest.mark.parametrize(
    ("aggregation", "value", "printed"),
    [
        ("perplexity", lambda k: -LOSS["A"][k], math.exp(LOSS["A"].mean())),
        ("mean", lambda k: LOSS["A"][k], LOSS["A"].mean()),
        ("def own(items): ...", lambda k: FOLLOWED["A"][k], None),
    ],
)
def test_the_results_name_the_aggregation(aggregation, value, printed, tmp_path):
    lists = FOLLOWED["A"]
    printed = printed or sum(map(sum, lists)) / sum(map(len, lists))
    samples(tmp_path, "t", own=[value(k) for k in range(N)])
    metrics = [{"metric": "own", "aggregation": aggregation}]
    results(
        tmp_path,
        configs={"t": {"metric_list": metrics}},
        results={"t": {"own,none": printed}},
    )
    report = logs.read(tmp_path).report()
    assert report[tmp_path.name, "own"] == pytest.approx(printed, rel=1e-12)
    metrics[0]["aggregation"] = "median"
    results(tmp_path, configs={"t": {"metric_list": metrics}})
    if aggregation == "mean":
        with pytest.raises(ValueError, match="from all documents at once, by median"):
            logs.read(tmp_path).report()


def test_other_values_on_another_line_name_it(tmp_path):
    path = samples(tmp_path, "t", inst_level_acc=[[True], [False, True], [0.5]])
    with pytest.raises(
        ValueError, match=rf"{path.name}, line 3: .*share of true.*0\.5"
    ):
        logs.read(path)


def inspect_log(path, **changes):
    write_log(path, json.loads(HISTORY.read_text()) | changes)
    return path


@pytest.mark.parametrize("reducers", [["max"], ["at_least_2", "mode"], ["max", "mean"]])
def test_reduced_epochs_of_inspect_ai(reducers, tmp_path):
    log = json.loads(HISTORY.read_text())
    (match, judge) = log["results"]["scores"]
    scores = [match | {"reducer": name} for name in reducers] + [judge]
    changed = log["results"] | {"scores": scores}
    rows = logs.read(inspect_log(tmp_path / "log.json", results=changed))
    if "mean" in reducers:
        assert rows.report().metrics
        return
    message = rf"'match' of task 'history': its epochs are reduced by {reducers[0]}"
    with pytest.raises(ValueError, match=message):
        rows.report()
    assert rows.select(scorers="judge").report().metrics == ["judge"]
    # Or by default, in the settings.
    log["eval"]["config"] |= {"epochs_reducer": reducers}
    settings = {"eval": log["eval"], "results": log["results"]}
    rows = logs.read(inspect_log(tmp_path / "log.json", **settings))
    with pytest.raises(ValueError, match=f"its epochs are reduced by {reducers[0]}"):
        rows.report()


@pytest.mark.parametrize("ending", ["json", "eval"])
@pytest.mark.parametrize(
    ("metrics", "printed"),
    [
        ({"accuracy": 0.123, "stderr": 0.1}, "0.123"),
        ({"mean": 0.5}, "0.5"),
        ({"mcc": 0.25}, "mcc 0.25"),
        ({"std": 4 / 9, "var": 0.1}, "std 0.44.*var 0.1"),
        ({"history": 0.7, "all": 0.75}, "all 0.75"),
        ({"mcc": math.nan}, "mcc nan"),
        ({"accuracy": 4 / 9, "mcc": 0.25}, None),
        ({"inspect_ai/accuracy": 4 / 9}, None),
        ({"history": 0.7, "all": 4 / 9}, None),
        ({"stderr": 0.1}, None),
        ({}, None),
    ],
)
def test_a_number_of_inspect_ai_that_is_no_mean(metrics, printed, ending, tmp_path):
    results = json.loads(HISTORY.read_text())["results"]
    match, judge = results["scores"]  # 4 of 9 answers match
    match |= {"metrics": {k: {"name": k, "value": x} for k, x in metrics.items()}}
    results = results | {"scores": [match, judge]}
    rows = logs.read(inspect_log(tmp_path / f"log.{ending}", results=results))
    if printed is None:
        assert {*rows.report().metrics} == {"match", "judge"}
        return
    message = (
        rf"'match' of task 'history': in .*log.* the harness prints .*{printed}.* for "
        r"'.*', and a mean over samples is 0.444444; select scorers=\['judge'\]"
    )
    with pytest.raises(ValueError, match=message):
        rows.report()
    assert rows.select(scorers="judge").report().metrics == ["judge"]


def test_a_number_of_a_part_or_of_an_incomplete_log_of_inspect_ai(tmp_path):
    log = json.loads(HISTORY.read_text())
    (match, judge) = log["results"]["scores"]
    for sample in log["samples"]:
        sample["scores"]["match"]["value"] = {"a": "C", "b": "I"}
    parts = [
        match | {"name": name, "metrics": {"mean": {"name": "mean", "value": 1.0}}}
        for name in ("a", "b")
    ]
    changes = {
        "results": log["results"] | {"scores": [*parts, judge]},
        "samples": log["samples"],
    }
    rows = logs.read(inspect_log(tmp_path / "log.json", **changes))
    with pytest.raises(ValueError, match=r"got 'match/b' of task [^;]*is 0; select"):
        rows.report()
    changes["samples"] = changes["samples"][:-1]
    path = inspect_log(tmp_path / "log.json", **changes)
    with pytest.warns(IncompleteLogWarning):
        rows = logs.read(path, incomplete="warn")
    assert {*rows.report().metrics} == {"match/a", "match/b", "judge"}


def test_perplexities_of_inspect_ai(tmp_path):
    n, lls = [5, 20, 9], [-7.5, -22.0, -30.0]
    log = json.loads(HISTORY.read_text())
    some = [copy.deepcopy(sample) for sample in log["samples"][:3]]
    for sample, size, ll in zip(some, n, lls, strict=True):
        metadata = {"num_tokens": size, "sum_log_probs": ll}
        sample["scores"] = {"target": {"value": -ll / size, "metadata": metadata}}
    counts = {"total_samples": 3, "completed_samples": 3, "scores": []}
    path = inspect_log(tmp_path / "log.json", samples=some, results=counts)
    rows = logs.read(path)
    report = rows.report()
    per_token = math.exp(-sum(lls) / sum(n))
    per_seq = math.exp(np.mean([-ll / size for ll, size in zip(lls, n, strict=True)]))
    (model,) = rows.models
    assert report[model, "target/perplexity_per_token"] == pytest.approx(per_token)
    assert report[model, "target/perplexity_per_seq"] == pytest.approx(per_seq)


# Stated numbers of samples


SHORTENED = {
    "inspect_ai": (HISTORY, ["samples"], "log.json", 9),
    "inspect_ai, archive": (HISTORY, ["samples"], "log.eval", 9),
    "promptfoo": (PROMPTFOO, ["results", "results"], "results.json", 24),
    "deepeval": (DEEPEVAL, ["testRunData", "testCases"], "run.json", 12),
    "swebench": (SWEBENCH, ["unresolved_ids"], SWEBENCH.name, 24),
    "lm_eval": (REFERENCE / "lm_eval" / "small", [], "", 24),
}
"""Logs, members of which the last is removed, names, and stated numbers of samples."""


@pytest.mark.parametrize("harness", SHORTENED)
def test_fewer_samples_than_stated(harness, tmp_path, capsys):
    source, members, name, stated = SHORTENED[harness]
    if source.is_dir():
        shutil.copytree(source, tmp_path, dirs_exist_ok=True)
        (path,) = tmp_path.glob("samples_capitals_*")
        path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    else:
        content = json.loads(source.read_text())
        functools.reduce(operator.getitem, members, content).pop()
        write_log(tmp_path / name, content)
    message = (
        f"the log must contain the {stated} samples.*, got {stated - 1}; .*='warn'"
    )
    with pytest.raises(ValueError, match=message):
        logs.read(tmp_path)
    message = (
        rf"the log states {stated} samples.*, but contains only {stated - 1} samples"
    )
    with pytest.warns(IncompleteLogWarning, match=message) as caught:
        rows = logs.read(tmp_path, incomplete="warn")
    assert len(rows["grade"]) and caught[0].filename == __file__
    with pytest.raises(ValueError, match="incomplete must be one of"):
        logs.read(tmp_path, incomplete="drop")
    if harness == "inspect_ai":
        assert main(["grades", str(tmp_path)]) == 2
        assert "samples that it states, got 8" in capsys.readouterr().err
        assert main(["grades", str(tmp_path), "--incomplete=warn"]) == 0
        assert "warning: " in capsys.readouterr().err


@pytest.mark.parametrize("ending", [".json", ".eval"])
@pytest.mark.parametrize("changes", [{"samples": None}, {"samples": []}])
@pytest.mark.parametrize("incomplete", ["error", "warn"])
def test_a_log_of_inspect_ai_without_samples(ending, changes, incomplete, tmp_path):
    path = inspect_log(tmp_path / f"log{ending}", **changes)
    with pytest.raises(
        ValueError, match=rf"log{ending}: .*samples, got none; .*--no-log"
    ):
        logs.read(tmp_path, incomplete=incomplete)
    for more in (changes, {}):
        inspect_log(path, status="error", **more)
        with pytest.raises(
            ValueError, match=r"status 'success', got 'error'.* or leav"
        ):
            logs.read(tmp_path)


# Version 2 of promptfoo, and compressed text


def version_2(labels=("label",)):
    """Results of version 3 as version 2 would have had them."""
    content = json.loads(PROMPTFOO.read_text())
    found = []
    for result in content["results"]["results"]:
        kept = ("response", "success", "score", "namedScores", "latencyMs", "error")
        old = {name: result[name] for name in kept if name in result}
        of_prompt = {"raw": result["prompt"]["raw"]}
        of_prompt |= {name: result["prompt"]["label"] for name in labels}
        old |= {"provider": {"id": result["provider"]["id"]}, "prompt": of_prompt}
        old["vars"] = result["testCase"]["vars"]
        if result["failureReason"] != 2:
            old["gradingResult"] = result["gradingResult"]
        found.append(old)
    stats = content["results"]["stats"]
    stats["failures"] += stats.pop("errors")
    table = {"head": {"prompts": [], "vars": []}, "body": [{"outputs": []}] * 2}
    old = {"version": 2, "results": found, "stats": stats, "table": table}
    return {"results": old, "config": content["config"], "shareableUrl": None}


@pytest.mark.parametrize("labels", [("label",), ("display",), ()])
def test_promptfoo_version_2(labels, tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(version_2(labels)))
    rows, expected = logs.read(path), logs.read(PROMPTFOO)
    for name, column in rows.items():
        assert_array_equal(column, expected[name])


def test_promptfoo_version_2_with_several_prompts(tmp_path):
    content = version_2()
    path = tmp_path / "results.json"
    first = [x for x in content["results"]["results"] if x["provider"]["id"] == "small"]
    second = copy.deepcopy(first)
    for result in second:
        result["prompt"] = {"raw": "Other", "label": "other"}
    content["results"]["results"] = first + second
    path.write_text(json.dumps(content))
    assert logs.read(path).models == ["small, {{question}}", "small, other"]
    for result in content["results"]["results"]:
        del result["prompt"]["label"]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="must have one grade for item"):
        logs.read(path)  # prompts without names are not repeats


COMPRESSED = [
    HISTORY,
    PROMPTFOO,
    SWEBENCH,
    DEEPEVAL,
    *sorted(REFERENCE.glob("lm_eval/small/*")),
]


def test_compressed_logs(tmp_path):
    expected = logs.read([path for path in COMPRESSED if "results_2" not in path.name])
    for path in COMPRESSED:
        text = path.read_bytes()
        (tmp_path / f"{path.name}.gz").write_bytes(gzip.compress(text))
    folder = tmp_path / "large" / ".deepeval"  # which names the model
    folder.mkdir(parents=True)
    (tmp_path / f"{DEEPEVAL.name}.gz").rename(folder / f"{DEEPEVAL.name}.gz")
    found = logs.read(tmp_path)
    assert {*found.models} == {*expected.models}
    for name in expected:
        pairs = zip(
            *(sorted(map(str, x[name])) for x in (found, expected)), strict=True
        )
        assert all(a == b for a, b in pairs)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.csv.gz", "id,score\n1,1\n2,0\n"),
        ("m.TSV.GZ", "id\tscore\n1\t1\n2\t0\n"),
        ("m.ndjson.gz", '{"id": 1, "score": 1}\n{"id": 2, "score": 0}'),
        ("m.json.gz", '[{"id": 1, "score": 1}, {"id": 2, "score": 0}]'),
    ],
)
def test_compressed_tables(name, text, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()))
    rows = logs.read(tmp_path)
    assert (rows.models, rows["grade"].tolist()) == (["m"], [1, 0])
    assert main(["grades", str(path)]) == 0
    assert "mean" in capsys.readouterr().out
    path.write_bytes(path.read_bytes()[:-9])
    for broken in (tmp_path, path):
        with pytest.raises(ValueError, match=rf"{name}.*(truncated|damaged)"):
            logs.read(broken)
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"{name}: .*damaged"):
        logs.read(path)
    path.rename(tmp_path / "weights.npy.gz")  # ignored in a folder
    (tmp_path / "m.csv").write_text("id,score\n1,1\n")
    assert logs.read(tmp_path).models == ["m"]


def layouts(folder):
    """Logs with aggregated values, and of version 2."""
    path = samples(folder, "t", word_perplexity=pairs("A"), inst_acc=FOLLOWED["A"])
    lines = path.read_text().splitlines()
    yield path.name, [*map(json.loads, lines[:5])]
    yield "results.json", version_2()
    log = json.loads(HISTORY.read_text())
    for sample in log["samples"]:
        metadata = {"num_tokens": 3, "sum_log_probs": -2.5}
        sample["scores"] = {"target": {"value": 1, "metadata": metadata}}
    log["results"]["scores"][0]["reducer"] = "max"
    yield "log.json", log


@pytest.mark.parametrize("k", range(3))
def test_a_value_of_another_type_is_an_error_of_the_file_or_none(k, tmp_path):
    name, document = [*layouts(tmp_path / "m")][k]
    check_damaged(tmp_path / "m" / name, document, np.random.default_rng(k), 40)


@pytest.mark.parametrize("member", ["n-samples", "configs", "results", "model_name"])
def test_results_beside_samples_may_be_of_any_type(member, tmp_path):
    """What they state is used where it is as the harness writes it."""
    path = samples(tmp_path, "t", acc=[1.0, 0.0])
    for value in (None, 3, "word", [], ["t"], {"t": 3}, {"t": {"metric_list": [3]}}):
        results(tmp_path, **{member: value})
        assert logs.read(tmp_path)["grade"].tolist() == [1, 0]
        assert logs.read(path).scorers == ["acc"]
