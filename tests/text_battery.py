"""The battery of texts: all metrics of items that are texts, counted without a peer."""

from collections import Counter
from functools import cache, partial

import numpy as np
from battery import Case, Family, Rows, on_rows

import skci


@cache
def distance(reference, answer):
    """Levenshtein's distance, row by row of its table."""
    row = [*range(len(answer) + 1)]
    for k, symbol in enumerate(reference, 1):
        left = [k]
        for j, other in enumerate(answer, 1):
            changed = row[j - 1] + (symbol != other)
            left.append(min(changed, row[j] + 1, left[-1] + 1))
        row = left
    return row[-1]


def sums(counts, weights, truth, answer):
    """Weighted sums of the counts of items, (..., k)."""
    return weights @ np.array([*map(counts, truth, answer)], dtype=float)


def error_rate(units, weights, truth, answer):
    def counts(reference, text):
        return distance(units(reference), units(text)), len(units(reference))

    edits, size = np.moveaxis(sums(counts, weights, truth, answer), -1, 0)
    return (edits / size)[..., np.newaxis]


def words(text):
    return tuple(text.split())


@cache
def matches(units, order, reference, answer):
    """N-grams of the answer and the reference, and those in both."""
    grams = [
        Counter(units(text)[k : k + order] for k in range(len(units(text)) - order + 1))
        for text in (answer, reference)
    ]
    return *(each.total() for each in grams), (grams[0] & grams[1]).total()


def bleu(weights, truth, answer):
    orders = [
        sums(partial(matches, words, k), weights, truth, answer) for k in range(1, 5)
    ]
    log = np.mean([np.log(own[..., 2] / own[..., 0]) for own in orders], axis=0)
    penalty = np.minimum(0, 1 - orders[0][..., 1] / orders[0][..., 0])
    return 100 * np.exp(log + penalty)[..., np.newaxis]


def chrf(n_words, weights, truth, answer):
    kinds = [(characters, k) for k in range(1, 7)]
    kinds += [(words, k) for k in range(1, n_words + 1)]
    orders = [sums(partial(matches, *kind), weights, truth, answer) for kind in kinds]
    precision, recall = (
        np.mean([own[..., 2] / own[..., k] for own in orders], axis=0) for k in (0, 1)
    )
    return (500 * precision * recall / (4 * precision + recall))[..., np.newaxis]


def characters(text):
    return text.replace(" ", "")


CASES = {
    "wer": Case(skci.WordErrorRateCI(), partial(error_rate, words)),
    "cer": Case(skci.CharacterErrorRateCI(), partial(error_rate, str)),
    "bleu": Case(skci.BleuCI(), bleu),
    "chrf": Case(skci.ChrfCI(), partial(chrf, 0)),
    "chrf++": Case(skci.ChrfCI(word_order=2), partial(chrf, 2)),
}
WORDS = np.array(words("please turn the lights in my kitchen on off and call a friend"))


def some_texts(n=150, seed=0, rate=0.25, kinds=None):
    """Draw texts, and answers with some wrong words and some more."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(kinds or n):
        said = np.roll(WORDS, rng.integers(4))[: rng.integers(5, 12)]
        wrong = rng.random(len(said)) < rate
        heard = np.where(wrong, rng.choice(WORDS, len(said)), said)
        extra = rng.choice(WORDS, rng.integers(0, 2))
        pairs.append((" ".join(said), " ".join([*heard, *extra])))
    y, p = np.array(pairs if kinds is None else rng.choice(pairs, n)).T
    return Rows(y, p, y, p)


SAME, OTHER = np.resize(WORDS, (12, 6)), np.resize(WORDS[::-1], (12, 6))
SAME, OTHER = (np.array([" ".join(row) for row in own]) for own in (SAME, OTHER))
DEGENERATE = {
    "perfect": (SAME, SAME),
    "all wrong": (SAME, OTHER),
    "one wrong": (SAME, np.where(np.arange(12) == 3, OTHER, SAME)),
    "nothing said": (SAME, np.full(12, "")),
    "one text": (SAME[:1], SAME[:1]),
}
FAMILY = Family(
    CASES,
    some_texts,
    [some_texts(1000, seed, rate, 60) for seed, rate in ((1, 0.2), (2, 0.4), (3, 0.1))],
    reads="items",
    degenerate=on_rows(DEGENERATE),
)
