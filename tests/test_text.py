"""Metrics of texts have the numbers of jiwer and sacrebleu."""

import sys

import numpy as np
import pytest

import skci
from skci import JointAccumulator, joint_report
from skci.cli.main import main

jiwer = pytest.importorskip("jiwer")
sacrebleu = pytest.importorskip("sacrebleu")

WORDS = np.array(
    ["please", "Turn", "the", "lights,", "in", "my", "über", "漢字", "off."]
)


def drawn(n=200, seed=0):
    """Texts, other texts that say the same, and answers, of which one is empty."""
    rng = np.random.default_rng(seed)
    said = [np.roll(WORDS, k)[: rng.integers(5, 9)] for k in rng.integers(0, 5, n)]
    also = [np.roll(own, 2) for own in said]
    heard = [np.where(rng.random(len(x)) < 0.2, rng.choice(WORDS), x) for x in said]
    texts = [[" ".join(own) for own in texts] for texts in (said, also, heard)]
    texts[2][7] = ""
    return texts


SAID, ALSO, HEARD = drawn()
BOTH = [*zip(SAID, ALSO, strict=True)]
BLEU, CHRF = sacrebleu.metrics.BLEU, sacrebleu.metrics.CHRF


def test_errors_are_those_of_jiwer():
    for metric, peer in (
        (skci.WordErrorRateCI(), jiwer.wer),
        (skci.CharacterErrorRateCI(), jiwer.cer),
    ):
        assert metric(SAID, HEARD) == pytest.approx(peer(SAID, HEARD), rel=1e-13)


@pytest.mark.parametrize(
    ("metric", "peer", "options"),
    [
        (skci.BleuCI, BLEU, {}),
        (skci.BleuCI, BLEU, {"tokenize": "char", "lowercase": True}),
        (skci.ChrfCI, CHRF, {}),
        (skci.ChrfCI, CHRF, {"word_order": 2, "beta": 3, "lowercase": True}),
    ],
)
def test_n_grams_are_those_of_sacrebleu(metric, peer, options):
    references = [SAID, ALSO] if options else [SAID]
    expected = peer(**options).corpus_score(HEARD, references).score
    found = metric(**options)(BOTH if options else SAID, HEARD)
    assert found == pytest.approx(expected, rel=1e-13)


def test_names_and_moments():
    names = ["wer", "cer", "bleu", "chrf", "chrf++"]
    answers = {"A": HEARD, "B": ALSO}
    report = joint_report(SAID, answers, metrics=[*names, "accuracy"])
    assert report.metrics == [*names, "accuracy"]
    names.remove("chrf++")  # which counts the most
    accumulator = JointAccumulator(names, moments=True, method="delta")
    for rows in (slice(0, 50), slice(50, None)):
        batch = {name: texts[rows] for name, texts in answers.items()}
        accumulator.update(SAID[rows], batch)
    found = accumulator.report()
    expected = joint_report(SAID, answers, metrics=names, method="delta")
    np.testing.assert_allclose(found.estimates, expected.estimates, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-8)


@pytest.mark.parametrize(
    ("references", "hint"),
    [
        ([SAID], r"; pass the references, not \[references\]"),
        ([SAID, ALSO], "; pass a tuple of references for each row"),
    ],
)
def test_references_in_the_shape_of_sacrebleu_are_refused(references, hint):
    with pytest.raises(ValueError, match=hint):
        joint_report(references, {"A": HEARD}, metrics="bleu")


TWO, PAIRS = ["a", "b"], [("a", "b")] * 2


@pytest.mark.parametrize(
    ("metric", "reference", "answer", "message"),
    [
        ("wer", [1, 2], TWO, "for 'wer', got 1 in row 0; in a shell"),
        ("chrf", TWO, ["", 2], "y_pred must contain texts for 'chrf', got 2 in row 1"),
        ("cer", PAIRS, TWO, r"y_true must contain texts for 'cer', got \('a"),
        ("bleu", TWO, PAIRS, r"y_pred must contain texts for 'bleu', got"),
    ],
)
def test_items_must_be_texts(metric, reference, answer, message):
    with pytest.raises(TypeError, match=message):
        joint_report(reference, {"A": answer}, metrics=metric)


@pytest.mark.parametrize("options", [[], ["--groups=id"], ["--stop=24"]])
def test_cells_of_the_shell_are_texts(tmp_path, capsys, options):
    """Also those that look like numbers, booleans or missing values, and empty ones."""
    said = ["true", "the cat", "", "na", "12 1", "false"] * 4
    heard = ["true", "the cot", "uh", "", "12 1", "NaN"] * 4
    rows = enumerate(zip(said, heard, strict=True))
    lines = "".join(f"{k},{a},{b}\n" for k, (a, b) in rows)
    (tmp_path / "x.csv").write_text(f"id,said,heard\n{lines}", encoding="utf-8")
    arguments = ["--truth=said", "--models=heard", "--metrics=wer", *options]
    gate = ["--require=wer <= 9"] * ("--stop=24" in options)
    assert main(["report", str(tmp_path / "x.csv"), *arguments, *gate]) == 0
    assert "  0.57 " in capsys.readouterr().out  # 4 errors in 7 words


def test_bleu_without_matches_is_undefined():
    with pytest.warns(UserWarning, match="undefined, no n-gram that matches"):
        assert np.isnan(skci.BleuCI()(["a b c d e"] * 9, ["a b c e d"] * 9))


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jiwer", None)
    with pytest.raises(ImportError, match=r"'wer' needs jiwer; .*\.\[text\]"):
        skci.WordErrorRateCI()(["a"], ["b"])
