"""Numbers of harnesses that are no means of grades, and samples that are missing."""

import copy
import functools
import gzip
import json
import math
import operator
import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_logs import (
    HISTORY,
    PROMPTFOO,
    REFERENCE,
    RESULTS,
    SAMPLES,
    TABLES,
    assert_same,
    read_history,
    write_log,
)

from skci import grades_report, logs
from skci.cli.main import main
from skci.exceptions import IncompleteLogWarning

pytestmark = pytest.mark.filterwarnings("ignore::skci.exceptions.SmallSampleWarning")

HISTORY = HISTORY[0]
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


def records(**metrics):
    """Samples of lm-evaluation-harness, with a list of values by metric."""
    columns = zip(*metrics.values(), strict=True)
    fixed = {"doc": {"text": "t"}, "resps": [["x"]], "filter": "none"}
    return [
        fixed
        | {"doc_id": k, "metrics": [*metrics]}
        | dict(zip(metrics, values, strict=True))
        for k, values in enumerate(columns)
    ]


def samples(folder, task, **metrics):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"samples_{task}_{STAMP}.jsonl"
    write_log(path, records(**metrics))
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
    terms = [x * math.exp(x.mean()) for x in LOSS.values()]
    error = np.std(terms[0] - terms[1], ddof=1) / math.sqrt(N)
    assert difference.standard_error == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "values", "units", "is_exp"),
    [
        ("word_perplexity", pairs, -1, True),
        ("byte_perplexity", pairs, -1, True),
        ("bits_per_byte", pairs, -1 / math.log(2), False),
        ("inst_level_strict_acc", FOLLOWED.get, 1, False),
    ],
)
def test_numbers_that_are_a_ratio_of_sums(name, values, units, is_exp, tmp_path):
    for model in LOSS:
        samples(tmp_path / model, "t", **{name: values(model)})
    report = logs.read(tmp_path).report()
    for model in LOSS:
        lists = FOLLOWED[model]
        sums, sizes = np.transpose(pairs(model))
        if values is not pairs:
            sums, sizes = [*map(sum, lists)], [*map(len, lists)]
        ratio, error = ratio_and_error(np.multiply(sums, units), sizes)
        slope = math.exp(ratio) if is_exp else 1
        found = report[model, name]
        assert found == pytest.approx(slope if is_exp else ratio, rel=1e-12)
        assert found.standard_error == pytest.approx(error * slope, rel=1e-9)
        assert 0 <= found.low < found < found.high <= (1 if units == 1 else np.inf)


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
    for option, message in (
        ("error", "no grades of some items for 'B' by 'inst_level"),
        (0, "missing_grades must be 'error', 'drop' or"),
    ):
        with pytest.raises(ValueError, match=message):
            rows.report(missing_grades=option)
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
    documents = records(word_perplexity=pairs("A"))
    for k, document in enumerate(documents):
        document["doc"] = {"page": f"p{k // 5}"}
    write_log(samples(tmp_path / "A", "wikitext"), documents)
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
    message = "^scorers of several tasks must be means .*'perplexity' of task 'lambada'"
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
    message = (
        rf"^scorers must have a number for each sample, got '{name}' of task 't': the "
        "harness computes one number from all documents at once.*; "
        r"select scorers=\['acc'\] \(in a shell --scorer acc\)$"
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
    ("aggregation", "values", "printed"),
    [
        ("perplexity", (-LOSS["A"]).tolist(), math.exp(LOSS["A"].mean())),
        ("mean", LOSS["A"].tolist(), LOSS["A"].mean()),
        ("def own(items): ...", FOLLOWED["A"], np.concatenate(FOLLOWED["A"]).mean()),
        ("median", LOSS["A"].tolist(), None),
    ],
)
def test_the_results_name_the_aggregation(aggregation, values, printed, tmp_path):
    samples(tmp_path, "t", own=values)
    configs = {"t": {"metric_list": [{"metric": "own", "aggregation": aggregation}]}}
    results(tmp_path, configs=configs, results={"t": {"own,none": printed}})
    rows = logs.read(tmp_path)
    if printed is None:
        with pytest.raises(ValueError, match="from all documents at once, by median"):
            rows.report()
    else:
        found = rows.report()[tmp_path.name, "own"]
        assert found == pytest.approx(printed, rel=1e-12)


def test_other_values_on_another_line_name_it(tmp_path):
    path = samples(tmp_path, "t", inst_level_acc=[[True], [False, True], [0.5]])
    message = rf"{path.name}, line 3: .*share of true.*0\.5"
    with pytest.raises(ValueError, match=message):
        logs.read(path)


MATCH, JUDGE = RESULTS["scores"]  # 4 of 9 answers match


@pytest.mark.parametrize("by_default", [False, True])
@pytest.mark.parametrize("reducers", [["max"], ["at_least_2", "mode"], ["max", "mean"]])
def test_reduced_epochs_of_inspect_ai(reducers, by_default, tmp_path):
    log = json.loads(HISTORY.read_text())
    if by_default:
        log["eval"]["config"] |= {"epochs_reducer": reducers}
    else:
        scores = [MATCH | {"reducer": name} for name in reducers]
        log["results"]["scores"][:1] = scores
    write_log(tmp_path / "log.json", log)
    rows = logs.read(tmp_path)
    if "mean" in reducers:
        assert {*rows.report().metrics} == {"match", "judge"}
        return
    message = rf"'match' of task 'history': its epochs are reduced by {reducers[0]}"
    with pytest.raises(ValueError, match=message):
        rows.report()
    if not by_default:
        assert rows.select(scorers="judge").report().metrics == ["judge"]


def stated(**metrics):
    return {"metrics": {k: {"name": k, "value": x} for k, x in metrics.items()}}


@pytest.mark.parametrize("ending", ["json", "eval"])
@pytest.mark.parametrize(
    ("metrics", "printed"),
    [
        ({"accuracy": 0.123, "stderr": 0.1}, "0.123"),
        ({"mean": 0.5}, "0.5"),
        ({"std": 4 / 9, "var": 0.1}, "std 0.44.*var 0.1"),
        ({"history": 0.7, "all": 0.75}, "all 0.75"),
        ({"mcc": math.nan}, "mcc nan"),
        ({"accuracy": 4 / 9, "mcc": 0.25}, None),
        ({"inspect_ai/accuracy": 4 / 9}, None),
        ({"history": 0.7, "all": 4 / 9}, None),
        ({"stderr": 0.1}, None),
    ],
)
def test_a_number_of_inspect_ai_that_is_no_mean(metrics, printed, ending, tmp_path):
    scores = [MATCH | stated(**metrics), JUDGE]
    rows = read_history(tmp_path / f"log.{ending}", scores)
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
    parts = [MATCH | {"name": name} | stated(mean=1.0) for name in "ab"] + [JUDGE]
    changed = copy.deepcopy(SAMPLES)
    for sample in changed:
        sample["scores"]["match"]["value"] = {"a": "C", "b": "I"}
    rows = read_history(tmp_path / "log.json", parts, changed)
    with pytest.raises(ValueError, match=r"got 'match/b' of task [^;]*is 0; select"):
        rows.report()
    with pytest.warns(IncompleteLogWarning):
        rows = read_history(tmp_path / "log.json", parts, changed[:-1], "warn")
    assert {*rows.report().metrics} == {"match/a", "match/b", "judge"}


def test_perplexities_of_inspect_ai(tmp_path):
    sizes, lls = np.array([5, 20, 9] * 3), np.array([-7.5, -22.0, -30.0] * 3)
    target = [
        {"target": {"value": 1, "metadata": {"num_tokens": n, "sum_log_probs": ll}}}
        for n, ll in zip(sizes.tolist(), lls.tolist(), strict=True)
    ]
    changed = [x | {"scores": y} for x, y in zip(SAMPLES, target, strict=True)]
    rows = read_history(tmp_path / "log.json", [], changed)
    report, (model,) = rows.report(), rows.models
    per_token, per_seq = -lls.sum() / sizes.sum(), np.mean(-lls / sizes)
    for kind, loss in (("token", per_token), ("seq", per_seq)):
        found = report[model, f"target/perplexity_per_{kind}"]
        assert found == pytest.approx(math.exp(loss))


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
    source, members, name, n = SHORTENED[harness]
    if source.is_dir():
        shutil.copytree(source, tmp_path, dirs_exist_ok=True)
        (path,) = tmp_path.glob("samples_capitals_*")
        path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    else:
        content = json.loads(source.read_text())
        functools.reduce(operator.getitem, members, content).pop()
        write_log(tmp_path / name, content)
    message = f"the log must contain the {n} samples.*, got {n - 1}; .*='warn'"
    with pytest.raises(ValueError, match=message):
        logs.read(tmp_path)
    message = f"the log states {n} samples.*, but contains only {n - 1} samples"
    with pytest.warns(IncompleteLogWarning, match=message) as caught:
        rows = logs.read(tmp_path, incomplete="warn")
    assert len(rows["grade"]) and caught[0].filename == __file__
    with pytest.raises(ValueError, match="incomplete must be one of"):
        logs.read(tmp_path, incomplete="drop")
    if harness == "inspect_ai":
        assert main(["grades", str(tmp_path), "--incomplete=warn"]) == 0
        assert "warning: " in capsys.readouterr().err


@pytest.mark.parametrize("ending", [".json", ".eval"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"samples": None}, "samples, got none; .*--no-log"),
        ({"samples": []}, "samples, got none; .*--no-log"),
        ({"status": "error"}, "status 'success', got 'error'.* or leav"),
        ({"status": "error", "samples": []}, "status 'success', got 'error'.* or leav"),
    ],
)
def test_logs_of_inspect_ai_that_have_no_samples(ending, changes, message, tmp_path):
    write_log(tmp_path / f"log{ending}", json.loads(HISTORY.read_text()) | changes)
    for incomplete in ("error", "warn"):
        with pytest.raises(ValueError, match=rf"log{ending}: .*{message}"):
            logs.read(tmp_path, incomplete=incomplete)


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
    write_log(tmp_path / "results.json", version_2(labels))
    assert_same(logs.read(tmp_path), logs.read(PROMPTFOO))


def test_promptfoo_version_2_with_several_prompts(tmp_path):
    content = version_2()
    first = [x for x in content["results"]["results"] if x["provider"]["id"] == "small"]
    second = [x | {"prompt": {"raw": "Other", "label": "other"}} for x in first]
    content["results"]["results"] = first + second
    write_log(tmp_path / "results.json", content)
    assert logs.read(tmp_path).models == ["small, {{question}}", "small, other"]
    for result in first + second:
        result["prompt"].pop("label", None)
    write_log(tmp_path / "results.json", content)
    with pytest.raises(ValueError, match="must have one grade for item"):
        logs.read(tmp_path)  # prompts without names are not repeats


def test_compressed_logs(tmp_path):
    paths = [HISTORY, PROMPTFOO, SWEBENCH, DEEPEVAL]
    paths += sorted(REFERENCE.glob("lm_eval/small/*"))
    expected = logs.read([path for path in paths if "results_2" not in path.name])
    for path in paths:
        folder = tmp_path.joinpath(*path.parts[-3:-1])  # which may name the model
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    found = logs.read(tmp_path)
    for name in expected:
        assert sorted(map(str, found[name])) == sorted(map(str, expected[name]))


@pytest.mark.parametrize("name", ["m.tsv", "m.TAB", "m.ndjson", "m.json"])
def test_compressed_tables(name, tmp_path):
    path, text = tmp_path / f"{name}.GZ", TABLES[name.lower()]
    path.write_bytes(gzip.compress(text.encode()))
    rows = logs.read(tmp_path)
    assert (rows.models, rows["grade"].tolist()) == (["m"], [0.5, 1])
    for content in (path.read_bytes()[:-9], text.encode()):
        path.write_bytes(content)
        for broken in (tmp_path, path):
            with pytest.raises(ValueError, match=rf"{name}.*(truncated|damaged)"):
                logs.read(broken)
    path.rename(tmp_path / "weights.npy.gz")  # ignored in a folder
    (tmp_path / "m.csv").write_text("id,score\n1,1\n")
    assert logs.read(tmp_path).models == ["m"]


# Values of another type


def nodes(value, at=()):
    """Places of all values in a JSON document, as keys and positions."""
    members = enumerate(value) if isinstance(value, list) else ()
    yield at
    for key, member in value.items() if isinstance(value, dict) else members:
        yield from nodes(member, (*at, key))


def damaged(document, rng):
    """Replace or remove one value, of any depth as likely as of another."""
    places = [*nodes(document)]
    depth = rng.integers(1, 1 + max(map(len, places)))
    at = [each for each in places if len(each) == depth]
    *outer, key = at[rng.integers(len(at))]
    document = copy.deepcopy(document)
    holder = functools.reduce(operator.getitem, outer, document)
    others = [None, 3, True, "word", [], ["word"], {}, {"word": 3}]
    if rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = others[rng.integers(len(others))]
    return document


def layouts():
    """Names of logs of all formats, and what is in them."""
    report = "astropy__astropy-100/report.json"
    report = REFERENCE / "swebench/logs/run_evaluation/first/large" / report
    files = HISTORY, DEEPEVAL, PROMPTFOO, SWEBENCH, report
    found = {file.name: json.loads(file.read_text("utf-8")) for file in files}
    found["log.eval"] = found[HISTORY.name]
    found["promptfoo.jsonl"] = found["results.json"]["results"]["results"]
    (path,) = REFERENCE.glob("lm_eval/large/samples_sums_*.jsonl")
    found[path.name] = [*map(json.loads, path.read_text("utf-8").splitlines())]
    found["table.json"] = [{"id": k, "score": 1, "group": "a"} for k in range(3)]
    of_units = records(word_perplexity=pairs("A"), inst_acc=FOLLOWED["A"])
    found[f"samples_t_{STAMP}.jsonl"] = of_units[:5]
    found["version_2.json"] = version_2()
    log = copy.deepcopy(found[HISTORY.name])
    for sample in log["samples"]:
        metadata = {"num_tokens": 3, "sum_log_probs": -2.5}
        sample["scores"] = {"target": {"value": 1, "metadata": metadata}}
    log["results"]["scores"][0]["reducer"] = "max"
    return found | {"perplexity.json": log}


@pytest.mark.parametrize(("name", "document"), layouts().items(), ids=layouts().keys())
def test_a_value_of_another_type_is_an_error_of_the_file_or_none(
    name, document, tmp_path
):
    path = tmp_path / "run" / "model" / "instance" / name
    path.parent.mkdir(parents=True)
    rng, outcomes = np.random.default_rng(0), set()
    for _ in range(25):
        write_log(path, damaged(document, rng))
        try:
            outcomes.add(type(logs.read(path)))
        except ValueError as error:
            assert path.name in str(error)
            outcomes.add(type(error))
    assert outcomes == {logs.LogRows, ValueError}


@pytest.mark.parametrize("member", ["n-samples", "configs", "results", "model_name"])
def test_results_beside_samples_may_be_of_any_type(member, tmp_path):
    """What they state is used where it is as the harness writes it."""
    path = samples(tmp_path, "t", acc=[1.0, 0.0])
    for value in (None, 3, "word", [], ["t"], {"t": 3}, {"t": {"metric_list": [3]}}):
        results(tmp_path, **{member: value})
        assert logs.read(tmp_path)["grade"].tolist() == [1, 0]
        assert logs.read(path).scorers == ["acc"]
