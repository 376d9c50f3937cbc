"""The battery of classes: all metrics of several classes, targets or class scores.

The textbook reads rows as matrices with a column for each class: one-hot labels,
targets, or scores. Its values have shape (..., 1), or (..., classes) with
``average=None``.
"""

from functools import partial

import numpy as np
from battery import (
    Case,
    Family,
    Rows,
    named,
    on_rows,
    on_tables,
    quiet,
    scikit_of,
    set_to,
    slopes,
)
from sklearn import metrics as sk

import skci
from skci.metrics.names import resolve_metric

AVERAGES = ["micro", "macro", "weighted", None]


# A class against the rest, averaged


def _f_beta(beta):
    def value(tp, fp, fn, tn):
        precision, recall = tp / (tp + fp), tp / (tp + fn)
        value = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
        return np.where((tp == 0) & (fp + fn > 0), 0.0, value)

    return value


FORMULAS = {
    "precision": lambda tp, fp, fn, tn: tp / (tp + fp),
    "recall": lambda tp, fp, fn, tn: tp / (tp + fn),
    "specificity": lambda tp, fp, fn, tn: tn / (tn + fp),
    "negative_predictive_value": lambda tp, fp, fn, tn: tn / (tn + fn),
    "false_positive_rate": lambda tp, fp, fn, tn: 1 - tn / (tn + fp),
    "false_negative_rate": lambda tp, fp, fn, tn: 1 - tp / (tp + fn),
    "selection_rate": lambda tp, fp, fn, tn: (tp + fp) / (tp + fp + fn + tn),
    **{f"f{beta:g}": _f_beta(beta) for beta in (1, 0.5, 2, 0.7)},
    "jaccard": lambda tp, fp, fn, tn: tp / (tp + fp + fn),
    "tversky": lambda tp, fp, fn, tn: tp / (tp + 0.3 * fp + 0.9 * fn),
    "cosine": lambda tp, fp, fn, tn: np.sqrt(tp / (tp + fp) * tp / (tp + fn)),
    "lift": lambda tp, fp, fn, tn: tp / (tp + fp) / ((tp + fn) / (tp + fp + fn + tn)),
    "overlap": lambda tp, fp, fn, tn: tp / np.minimum(tp + fp, tp + fn),
    "positive_likelihood_ratio": lambda tp, fp, fn, tn: (
        tp / (tp + fn) / (fp / (fp + tn))
    ),
    "negative_likelihood_ratio": lambda tp, fp, fn, tn: (
        fn / (tp + fn) / (tn / (fp + tn))
    ),
}
ONE_VS_REST = {
    name: (resolve_metric(name), formula) for name, formula in FORMULAS.items()
} | {"tversky": (skci.TverskyCI(0.3, 0.9), FORMULAS["tversky"])}
"""Metrics of one label, and the formula of each in counts."""

SCIKIT = {f"f{beta:g}": partial(sk.fbeta_score, beta=beta) for beta in (0.5, 2, 0.7)}


def pairs(truth, answer):
    """Which are true positives, false positives, false and true negatives."""
    return truth & answer, ~truth & answer, truth & ~answer, ~truth & ~answer


def one_vs_rest(weights, truth, answer):
    """Counts of true positives, false positives, false and true negatives."""
    cells = weights @ np.hstack(pairs(truth, answer)).astype(float)
    return np.split(cells, 4, axis=-1)


def averaged(formula, average, weights, truth, answer, zero_division=np.nan):
    """Average a measure of each class, or target, against the rest."""
    cells = one_vs_rest(weights, truth, answer)
    tp, _, fn, _ = cells
    if average == "micro":
        cells = [cell.sum(axis=-1, keepdims=True) for cell in cells]
    if average == "samples":
        cells = [pair.sum(axis=1) for pair in pairs(truth, answer)]
    with np.errstate(all="ignore"):
        values = formula(*cells)
    values = np.where(np.isnan(values), zero_division, values)
    if average in ("micro", None):
        return values
    share = {"macro": np.ones(tp.shape), "weighted": tp + fn, "samples": weights}
    return mean_of_known(values, share[average])


def mean_of_known(values, shares):
    """Mean of what is not NaN."""
    known = ~np.isnan(values)
    total = (np.where(known, values, 0) * shares).sum(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        return total / (known * shares).sum(axis=-1, keepdims=True)


def case_of_average(measure, average, reads=("labels", "targets")):
    """Case of an average over classes, or over targets or rows of them."""
    metric, formula = ONE_VS_REST[measure]
    scikit = SCIKIT.get(measure, scikit_of(measure))
    return Case(
        set_to(metric, average=average),
        partial(averaged, formula, average),
        None if scikit is None else partial(scikit, average=average),
        reads,
    )


def _one_vs_rest_cases():
    """Every average of F1, and one of each other measure."""
    for measure in ONE_VS_REST:
        # The mean share of rows that are called a label is constant.
        average = "weighted" if measure == "selection_rate" else "macro"
        yield f"{measure}_{average}", case_of_average(measure, average)
    for average in AVERAGES:
        yield f"f1_{average}", case_of_average("f1", average)
    yield "f1_samples", case_of_average("f1", "samples", ("targets",))


# All classes together


def mean(weights, values):
    """Weighted mean of the rows, shape (..., 1)."""
    return (weights @ values / weights.sum(axis=-1))[..., np.newaxis]


def accuracy(weights, truth, answer):
    return mean(weights, (truth == answer).all(axis=1))


def hamming_of_targets(weights, truth, answer):
    """Share of wrong labels: of one target all of a wrong row."""
    of_one = (truth.sum(axis=1) == 1).all() and (answer.sum(axis=1) == 1).all()
    wrong = (truth != answer).any(axis=1) if of_one else (truth != answer).mean(axis=1)
    return mean(weights, wrong)


def marginals(weights, truth, answer):
    """Shares of the labels in the truth and in the answers."""
    total = weights.sum(axis=-1)[..., np.newaxis]
    return weights @ truth / total, weights @ answer / total


def correlation(weights, truth, answer):
    """Gorodkin's correlation of one-hot vectors."""
    true, answered = marginals(weights, truth, answer)
    covariance = accuracy(weights, truth, answer)[..., 0] - (true * answered).sum(-1)
    spread = (1 - (true**2).sum(-1)) * (1 - (answered**2).sum(-1))
    return (covariance / np.sqrt(spread))[..., np.newaxis]


def kappa(power, weights, truth, answer):
    """Cohen's kappa, of labels that disagree by a power of their distance."""
    true, answered = marginals(weights, truth, answer)
    places = np.arange(truth.shape[1])
    distances = np.abs(np.subtract.outer(places, places)) ** float(power)
    np.fill_diagonal(distances, 0)
    observed = mean(weights, ((truth @ distances) * answer).sum(axis=1))[..., 0]
    expected = ((true @ distances) * answered).sum(axis=-1)
    return (1 - observed / expected)[..., np.newaxis]


BOTH = ("labels", "targets")
AGREEMENT = {
    "accuracy": named("accuracy", accuracy, reads=BOTH),
    "error_rate": Case(
        skci.ErrorRateCI(), lambda *rows: 1 - accuracy(*rows), sk.zero_one_loss, BOTH
    ),
    "hamming_loss": named("hamming_loss", hamming_of_targets, reads=BOTH),
    "balanced_accuracy": named(
        "balanced_accuracy", partial(averaged, FORMULAS["recall"], "macro")
    ),
    "matthews_corrcoef": named("matthews_corrcoef", correlation),
    "cohen_kappa": named("cohen_kappa", partial(kappa, 0)),
} | {
    f"cohen_kappa_{weights}": Case(
        skci.CohenKappaCI(weights=weights),
        partial(kappa, power),
        partial(sk.cohen_kappa_score, weights=weights),
    )
    for weights, power in {"linear": 1, "quadratic": 2}.items()
}


# Scores for each class

OF_TARGETS = ("scores", "target scores")


def levels(weights, positive, scores):
    """Weights of the positive and of the negative rows at each score, ascending."""
    at = scores[:, np.newaxis] == np.unique(scores)
    own = positive[:, np.newaxis]
    both = weights @ np.hstack([at & own, at & ~own]).astype(float)
    return np.split(both, 2, axis=-1)


def roc_area(weights, positive, scores):
    """Share of the pairs in which the positive row has the greater score."""
    hits, misses = levels(weights, positive, scores)
    below = np.cumsum(misses, axis=-1) - misses / 2
    return (hits * below).sum(axis=-1) / (hits.sum(axis=-1) * misses.sum(axis=-1))


def precisions(weights, positive, scores):
    """Weight of the positive rows from the greatest score on, and the precision."""
    hits, misses = (each[..., ::-1] for each in levels(weights, positive, scores))
    found, flagged = np.cumsum(hits, axis=-1), np.cumsum(hits + misses, axis=-1)
    with np.errstate(all="ignore"):
        return hits, np.where(flagged > 0, found / flagged, 0)


def precision_area(weights, positive, scores):
    """Sum of precision times what a score adds to the recall."""
    hits, precision = precisions(weights, positive, scores)
    return (precision * hits).sum(axis=-1) / hits.sum(axis=-1)


def best_precisions(weights, positive, scores):
    """The greatest precision at each score or a lower one, where recall is greater."""
    hits, precision = precisions(weights, positive, scores)
    return hits, np.maximum.accumulate(precision[..., ::-1], axis=-1)[..., ::-1]


def area_by_recalls(weights, positive, scores):
    """Mean of the best precision at the recalls 0, .01, ..., 1."""
    hits, best = best_precisions(weights, positive, scores)
    found = np.cumsum(hits, axis=-1)
    recall = found / found[..., -1:]
    first = (recall[..., np.newaxis, :] < np.linspace(0, 1, 101)[:, np.newaxis]).sum(-1)
    return np.take_along_axis(best, first, -1).mean(axis=-1)


def area_by_positives(weights, positive, scores):
    """Mean of the best precision over the positive rows."""
    hits, best = best_precisions(weights, positive, scores)
    return (hits * best).sum(axis=-1) / hits.sum(axis=-1)


def mean_area(area, average, weights, truth, scores):
    """Average an area of each label against the rest, or of each row over labels."""
    if average == "micro":
        pairs = np.repeat(weights, truth.shape[1], axis=-1)
        return area(pairs, truth.ravel(), scores.ravel())[..., np.newaxis]
    if average == "samples":
        alone = np.ones(truth.shape[1])
        values = [quiet(area, alone, *row) for row in zip(truth, scores, strict=True)]
        return mean_of_known(np.array(values), weights)
    classes = range(truth.shape[1])
    each = [area(weights, truth[:, k], scores[:, k]) for k in classes]
    values = np.stack(each, axis=-1)
    if average is None:
        return values
    rows = weights @ truth.astype(float)
    return mean_of_known(values, rows if average == "weighted" else np.ones(rows.shape))


def delong(average, rows, weights):
    """Influence on ROC areas whose jackknife is the variance of DeLong et al.

    They divide the variance within a class of m rows by m - 1. Of all pairs of a row
    and a label those are the rows that are in a pair of the class.
    """
    (n, labels), truth = rows.truth.shape, rows.truth
    if average == "samples":
        return slopes(partial(mean_area, roc_area, "samples"), rows, weights)
    if average == "micro":
        answer = rows.answer.reshape(-1, 1)
        pairs = Rows(answer, answer, truth.reshape(-1, 1), answer)
        sizes = [each.any(axis=1).sum() for each in (~truth, truth)]
        influence = _delong(n, pairs, np.repeat(weights, labels), *sizes)
        return influence.reshape(n, labels).sum(axis=1, keepdims=True)
    influence = _delong(n, rows, weights, (~truth).sum(axis=0), truth.sum(axis=0))
    if average == "macro":
        return influence.mean(axis=1, keepdims=True)
    if average == "weighted":
        true, values = (
            weights @ truth,
            mean_area(roc_area, None, weights, truth, rows.answer),
        )
        shares = true / true.sum()
        moved = weights / true.sum() * (truth @ (values - values @ shares))
        return (influence @ shares + moved)[:, np.newaxis]
    return influence


def _delong(n, rows, weights, negatives, positives):
    """Influence on the area of each label, of so many negative and positive rows."""
    sizes = np.where(rows.truth, positives, negatives)
    influence = slopes(partial(mean_area, roc_area, None), rows, weights)
    return influence * np.sqrt(sizes / (sizes - 1) * (n - 1) / n)


def pairs_of(truth):
    """Each ordered pair of classes, and the rows of both."""
    classes = range(truth.shape[1])
    return [
        (first, truth[:, first] | truth[:, second])
        for first in classes
        for second in classes
        if first != second
    ]


def areas_of_pairs(weights, truth, scores):
    """Area of each class against each other class, by the scores of the former."""
    values = [
        roc_area(weights[..., own], truth[own, k], scores[own, k])
        for k, own in pairs_of(truth)
    ]
    return np.stack(values, axis=-1)


def mean_of_pairs(average, weights, truth, scores):
    """Average the areas of pairs, equally or by the rows of both classes."""
    rows = np.stack([weights @ own for _, own in pairs_of(truth)], axis=-1)
    shares = rows if average == "weighted" else np.ones(rows.shape)
    return mean_of_known(areas_of_pairs(weights, truth, scores), shares)


def delong_of_pairs(average, rows, weights):
    """Influence on the mean of pairs, each area with the variance of DeLong et al."""
    n, sizes = len(rows), rows.truth @ rows.truth.sum(axis=0)
    influence = slopes(areas_of_pairs, rows, weights)
    influence *= np.sqrt(sizes / (sizes - 1) * (n - 1) / n)[:, np.newaxis]
    if average == "macro":
        return influence.mean(axis=1, keepdims=True)
    both = np.stack([own for _, own in pairs_of(rows.truth)], axis=-1)
    shares = weights @ both / (weights @ both).sum()
    values = areas_of_pairs(weights, rows.truth, rows.answer)
    moved = weights / weights.sum() * (both @ values / both[0].sum() - shares @ values)
    return (influence @ shares + moved)[:, np.newaxis]


def _pair_cases():
    for average in ("macro", "weighted"):
        yield (
            f"roc_auc_ovo_{average}",
            Case(  # scikit-learn's takes no weights
                skci.RocAucCI(multi_class="ovo", average=average),
                partial(mean_of_pairs, average),
                None,
                ("scores",),
                empirical_influence=partial(delong_of_pairs, average),
            ),
        )


def _area_cases():
    for average in [*AVERAGES, "samples"]:
        options = {"reads": OF_TARGETS[average == "samples" :]}
        yield (
            f"average_precision_{average}",
            Case(
                skci.AveragePrecisionCI(average=average),
                partial(mean_area, precision_area, average),
                partial(sk.average_precision_score, average=average),
                **options,
            ),
        )
        yield (
            f"roc_auc_{average}",
            Case(
                skci.RocAucCI(average=average),
                partial(mean_area, roc_area, average),
                partial(sk.roc_auc_score, average=average, multi_class="ovr"),
                empirical_influence=partial(delong, average),
                **options,
            ),
        )


def top_2(weights, truth, scores):
    """Share of rows where at most one other score is greater, or equal and later."""
    own = np.argmax(truth, axis=1)
    later = np.arange(truth.shape[1]) > own[:, np.newaxis]
    true_score = scores[truth][:, np.newaxis]
    ahead = (scores > true_score) | (scores == true_score) & later
    return mean(weights, ahead.sum(axis=1) < 2)


def brier_skill(weights, truth, scores):
    shares = weights @ truth / weights.sum(axis=-1)[..., np.newaxis]
    constant = (shares * (1 - shares)).sum(axis=-1, keepdims=True)
    return 1 - brier_score(weights, truth, scores) / constant


def log_skill(weights, truth, scores):
    shares = weights @ truth / weights.sum(axis=-1)[..., np.newaxis]
    entropy = -(shares * np.log(shares)).sum(axis=-1, keepdims=True)
    return 1 - log_loss(weights, truth, scores) / entropy


def log_loss(weights, truth, scores):
    return mean(weights, -(truth * np.log(scores)).sum(axis=1))


def brier_score(weights, truth, scores):
    return mean(weights, ((scores - truth) ** 2).sum(axis=1))


def hinge_loss(weights, truth, scores):
    others = np.sort(np.where(truth, -np.inf, scores), axis=1)[:, -1]
    losses = 1 - (truth * scores).sum(axis=1) + others
    return mean(weights, np.maximum(losses, 0))


LOSSES = {
    "hinge_loss": named("hinge_loss", hinge_loss, reads=("scores",)),
    "d2_brier_score": named("d2_brier_score", brier_skill, reads=OF_TARGETS),
    "d2_log_loss": Case(
        skci.D2LogLossCI(),
        log_skill,
        # Releases without the other one fail on several targets.
        sk.d2_log_loss_score if hasattr(sk, "d2_brier_score") else None,
        OF_TARGETS,
    ),
    "top_k_accuracy": named("top_k_accuracy", top_2, reads=("scores",)),
    "log_loss": named("log_loss", log_loss, reads=OF_TARGETS),
    "brier_score": Case(
        skci.BrierScoreCI(), brier_score, reads=OF_TARGETS, bounds=(0, 3)
    ),
}

CASES = {
    **dict(_one_vs_rest_cases()),
    **AGREEMENT,
    **dict(_area_cases()),
    **dict(_pair_cases()),
    **LOSSES,
}


# Rows


def of_labels(y, p, classes=None):
    """Rows of labels, and one-hot columns of the classes: of all that occur."""
    classes = np.union1d(y, p) if classes is None else np.asarray(classes)
    truth, answer = (np.asarray(own)[:, np.newaxis] == classes for own in (y, p))
    return Rows(np.asarray(y), np.asarray(p), truth, answer)


def some_labels(n=150, seed=0, right=0.6, shares=(0.5, 0.3, 0.2)):
    """Draw labels, and answers that are right at a rate or else anything."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(shares), n, p=shares)
    guess = rng.choice(len(shares), n, p=np.roll(shares, 1))
    return of_labels(y, np.where(rng.random(n) < right, y, guess))


def some_targets(n=150, seed=0, shares=(0.6, 0.5, 0.3)):
    """Draw targets, at least one in each row and in each answer to it."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, len(shares))) < shares
    answer = np.where(rng.random(truth.shape) < 0.7, truth, ~truth)
    truth[~truth.any(axis=1), 0] = answer[~answer.any(axis=1), 0] = True
    return Rows(truth.astype(int), answer.astype(int), truth, answer)


def some_scores(n=150, seed=0):
    """Draw labels and probabilities of them, many of which are tied."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    tenths = rng.multinomial(7, np.full(3, 1 / 3), n) + 1
    tenths[np.arange(n), y] += 2
    scores = tenths / tenths.sum(axis=1, keepdims=True)
    return Rows(y, scores, y[:, np.newaxis] == np.arange(3), scores)


def some_target_scores(n=150, seed=0):
    """Draw targets, one or two in each row, and shares of them, many of them tied."""
    rng = np.random.default_rng(seed)
    patterns = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]]
    truth = np.array(patterns)[rng.integers(0, 6, n)]
    tenths = rng.multinomial(5, np.full(3, 1 / 3), n) + 1 + truth
    scores = tenths / tenths.sum(axis=1, keepdims=True)
    return Rows(truth, scores, truth == 1, scores)


DEGENERATE_TABLES = {
    "perfect": np.diag([15, 10, 20]),
    "all wrong": [[0, 9, 0], [0, 0, 8], [7, 0, 0]],
    "one class, right": [[20, 0, 0], [0, 0, 0], [0, 0, 0]],
    "one true class": [[15, 4, 3], [0, 0, 0], [0, 0, 0]],
    "one predicted class": [[15, 0, 0], [9, 0, 0], [8, 0, 0]],
    "never predicted": [[15, 3, 0], [4, 12, 0], [2, 3, 0]],
    "never true": [[15, 3, 2], [4, 12, 1], [0, 0, 0]],
    "one row, right": [[0, 0, 0], [0, 1, 0], [0, 0, 0]],
    "one row, wrong": [[0, 0, 1], [0, 0, 0], [0, 0, 0]],
    "a row of each": np.eye(3, dtype=int),
}


def degenerate_targets():
    some = some_targets()
    y, none = some.y, 0 * some.y
    return {
        "perfect": (y, y),
        "all wrong": (y, 1 - y),
        "never there": (none, some.p),
        "never predicted": (y, none),
        "nothing at all": (none, none),
        "one row": (y[:1], some.p[:1]),
    }


def degenerate_scores():
    y = np.repeat([0, 1, 2], [9, 12, 7])
    return {
        "perfect": (y, np.eye(3)[y]),
        "all wrong": (y, np.eye(3)[(y + 1) % 3]),
        "all alike": (y, np.full((len(y), 3), 1 / 3)),
        "a row of each": (np.arange(3), np.eye(3)),
    }


def degenerate_target_scores():
    rows, alike = some_target_scores(30), np.full((30, 3), 1 / 3)
    y, share = rows.y, lambda y: y / y.sum(axis=1, keepdims=True)
    return {
        "perfect": (y, share(y)),
        "all wrong": (y, share(1 - y)),
        "all alike": (y, alike),
        "never there": (0 * y, alike),
        "always there": (1 + 0 * y, alike),
        "one row": (y[:1], rows.p[:1]),
    }


FAMILIES = {
    kind: Family(
        {name: case for name, case in CASES.items() if reads in case.reads},
        draw,
        [draw(n, seed=1)],
        reads,
        degenerate=degenerate,
    )
    for kind, reads, draw, n, degenerate in [
        ("classes", "labels", some_labels, 20_000, on_tables(DEGENERATE_TABLES)),
        ("targets", "targets", some_targets, 20_000, on_rows(degenerate_targets())),
        ("class scores", "scores", some_scores, 4000, on_rows(degenerate_scores())),
        (
            "target scores",
            "target scores",
            some_target_scores,
            4000,
            on_rows(degenerate_target_scores()),
        ),
    ]
}
