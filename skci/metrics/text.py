"""Metrics of texts: functions of counts summed over items.

References
----------
Papineni, K., Roukos, S., Ward, T. and Zhu, W.-J. (2002). BLEU: a method for automatic
evaluation of machine translation. ACL, 311-318.

Popović, M. (2015). chrF: character n-gram F-score for automatic MT evaluation. WMT,
392-395.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import truediv
from typing import Any, ClassVar

import numpy as np

from skci._arrays import Array
from skci._packages import optional_module
from skci._validation import check_integer, check_positive_number
from skci.measures.functional import divisor
from skci.metrics.base import option
from skci.metrics.custom import FunctionOfItemsCI


class _TextMetricCI(FunctionOfItemsCI):
    """Metric of texts, where each item is a text.

    Parameters
    ----------
    method : {"auto", "hall", "delta"}, optional
        Interval method: "hall" (corrected for skewness) or "delta" (symmetric).
        Defaults to the method of the report, or to "auto", which is "hall".
    """

    @property
    def _counted(self) -> Any:
        return type(self), *map(str, self.get_params().values())

    def _features(self, truth: Array, answer: Array, weights: Array) -> Array:
        for name, items in (("y_true", truth), ("y_pred", answer)):
            accepts_tuples = name == "y_true" and self._takes_several
            kinds = (str, tuple) if accepts_tuples else str
            for row, item in enumerate(items):
                if not isinstance(item, kinds):
                    place = f" in row {row}" * (len(items) > 1)
                    raise TypeError(
                        f"{name} must contain texts for {self.name!r}, got {item!r:.60}"
                        f"{place}; in a shell, --text reads all labels as text"
                    )
        return np.array([*self._counts(truth.tolist(), answer.tolist())], dtype=float)

    # Whether an item may have several references, as a tuple.
    _takes_several: ClassVar[bool] = False

    # Yield the counts of each text, such as the numbers of edits and of words.
    _counts: ClassVar[Callable[[Any, list[Any], list[str]], Iterable[Any]]]


# --------------------------------------------------------------------------------------
# Edits
# --------------------------------------------------------------------------------------


class _EditRateCI(
    _TextMetricCI,
    bounds=(0.0, np.inf),
    greater_is_better=False,
    undefined_by="references without a text",
):
    """Metric of edit distances, which are counted by jiwer."""

    _function = staticmethod(truediv)
    # Name of jiwer's function that aligns texts.
    _align: ClassVar[str]

    def _counts(self, references: list[Any], answers: list[str]) -> Iterable[Any]:
        jiwer = optional_module("jiwer", repr(self.name), "text")
        output = getattr(jiwer, self._align)(references, answers)
        for reference, chunks in zip(output.references, output.alignments, strict=True):
            yield sum(map(_edits, chunks)), len(reference)


def _edits(chunk: Any) -> int:
    """Return the number of edits in one chunk of an alignment made by jiwer."""
    removed = chunk.ref_end_idx - chunk.ref_start_idx
    added = chunk.hyp_end_idx - chunk.hyp_start_idx
    return 0 if chunk.type == "equal" else max(removed, added)


class WordErrorRateCI(_EditRateCI, measure="wer"):
    r"""Word error rate of a corpus. Lower is better.

    .. math:: \sum_i E_i / \sum_i N_i

    where reference i has :math:`N_i` words, and :math:`E_i` is the number of
    substitutions, deletions and insertions of words that turn the reference into the
    recognised text. The estimate equals ``jiwer.wer``; jiwer must be installed.
    Differences in case and punctuation count as errors, so that texts should be
    normalised first.

    Examples
    --------
    >>> from skci import WordErrorRateCI
    >>> said, heard = ["turn on the light", "call me"], ["turn on a light", "call me"]
    >>> WordErrorRateCI()(said * 20, heard * 20)
    wer = 0.167 [0.125, 0.199], 95% interval (hall, n = 40)
    """

    _align = "process_words"


class CharacterErrorRateCI(_EditRateCI, measure="cer"):
    r"""Character error rate of a corpus. Lower is better.

    .. math:: \sum_i E_i / \sum_i N_i

    where reference i has :math:`N_i` characters, and :math:`E_i` is the number of
    substitutions, deletions and insertions of characters that turn the reference into
    the recognised text. The estimate equals ``jiwer.cer``; jiwer must be installed.

    Examples
    --------
    >>> from skci import CharacterErrorRateCI
    >>> said, heard = ["turn on the light", "call me"], ["turn on a light", "call me"]
    >>> CharacterErrorRateCI()(said * 20, heard * 20)
    cer = 0.125 [0.097, 0.145], 95% interval (hall, n = 40)
    """

    _align = "process_characters"


# --------------------------------------------------------------------------------------
# N-grams
# --------------------------------------------------------------------------------------


class _NGramsCI(_TextMetricCI, bounds=(0.0, 100.0)):
    """Metric of n-grams, which are counted by sacrebleu.

    Parameters
    ----------
    lowercase : bool, default=False
        Whether to ignore case.
    """

    lowercase: bool = False

    _takes_several = True

    def _counts(self, references: list[Any], answers: list[str]) -> Iterable[Any]:
        metrics = optional_module("sacrebleu.metrics", repr(self.name), "text")
        count = self._counter(metrics)._extract_corpus_statistics
        for reference, answer in zip(references, answers, strict=True):
            several = reference if isinstance(reference, tuple) else [reference]
            yield count([answer], [[text] for text in several])[0]

    # Return the object of the module sacrebleu.metrics that counts n-grams.
    _counter: ClassVar[Callable[[Any, Any], Any]]


def _bleu(answer: Any, reference: Any, *counts: Any) -> Any:
    """Compute BLEU from the total lengths of texts and from n-gram counts.

    `counts` contains the numbers of matching n-grams of orders 1, 2, ..., followed by
    the total numbers of n-grams of these orders.
    """
    half = len(counts) // 2
    pairs = zip(counts[:half], counts[half:], strict=True)
    logs = [np.log(divisor(match) / total) for match, total in pairs]
    return 100 * np.exp(np.minimum(0, 1 - reference / answer) + sum(logs) / half)


class BleuCI(_NGramsCI, measure="bleu", undefined_by="no n-gram that matches"):
    r"""BLEU of a corpus of translations, from 0 to 100.

    .. math:: 100 \exp \Bigl(\min(0, 1 - r / c) + \frac 14 \sum_{k=1}^4
        \log \frac{m_k}{n_k}\Bigr)

    where r is the length of the references and c the length of the translations. The
    translations have :math:`n_k` n-grams of order k, of which :math:`m_k` match. The
    estimate equals ``sacrebleu.corpus_bleu``; sacrebleu must be installed. If no n-gram
    of some order matches, BLEU is undefined (sacrebleu smooths the counts in this
    case). An item may have several references, as a tuple.

    Parameters
    ----------
    tokenize : str, optional
        Name of a tokenizer of sacrebleu, such as "zh". Defaults to "13a".

    Examples
    --------
    >>> from skci import BleuCI
    >>> reference = ["the cat sat on the mat", "he read the book to her last night"]
    >>> answer = ["the cat sat on a mat", "he read the book to him last night"]
    >>> BleuCI()(reference * 20, answer * 20)
    bleu = 57.21 [56.24, 58.03], 95% interval (hall, n = 40)
    """

    tokenize: str | None = None

    _function = staticmethod(_bleu)

    def _counter(self, metrics: Any) -> Any:
        return metrics.BLEU(tokenize=self.tokenize, lowercase=self.lowercase)


def _chrf(*counts: Any, beta: float) -> Any:
    """Compute chrF from n-gram counts.

    For each order, `counts` contains three numbers: the n-grams in the answers, the
    n-grams in the references, and the matching n-grams.
    """
    precision: Any = 0.0
    recall: Any = 0.0
    n_orders: Any = 0.0
    for answer, reference, match in zip(*(counts[k::3] for k in range(3)), strict=True):
        has_order = (np.real(answer) > 0) & (np.real(reference) > 0)
        precision = precision + np.where(has_order, match / answer, 0)
        recall = recall + np.where(has_order, match / reference, 0)
        n_orders = n_orders + has_order
    score = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    return 100 * np.where(np.real(precision) > 0, score, 0) / n_orders


class ChrfCI(_NGramsCI, measure="chrf", undefined_by="no characters"):
    r"""Character n-gram F-score (chrF) of a corpus of translations, from 0 to 100.

    .. math:: 100 \frac{(1 + \beta^2) P R}{\beta^2 P + R}

    where P and R are the precision and recall of character n-grams in the corpus,
    averaged over the orders n from one to six. The estimate equals
    ``sacrebleu.corpus_chrf``; sacrebleu must be installed. An item may have several
    references, as a tuple.

    Parameters
    ----------
    word_order : int, default=0
        Maximum order of the word n-grams that are used in addition to character
        n-grams. By default there are no word n-grams; chrF++ uses 2.
    beta : float, default=2
        Weight of recall relative to precision.

    Examples
    --------
    >>> from skci import ChrfCI
    >>> reference = ["the cat sat on the mat", "he read the book to her last night"]
    >>> answer = ["the cat sat on a mat", "he read the book to him last night"]
    >>> ChrfCI()(reference * 20, answer * 20)
    chrf = 75.60 [73.05, 77.64], 95% interval (hall, n = 40)
    """

    _variants = ({"word_order": 2},)

    word_order: int = option(default=0, check=partial(check_integer, minimum=0))
    beta: float = option(default=2, check=check_positive_number)

    @property
    def _name(self) -> str:
        return super()._name + "+" * self.word_order

    @property
    def _function(self) -> Callable[..., Any]:
        return partial(_chrf, beta=self.beta)

    def _counter(self, metrics: Any) -> Any:
        options = {"word_order": self.word_order, "lowercase": self.lowercase}
        return metrics.CHRF(beta=self.beta, **options)
