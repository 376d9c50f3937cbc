"""The battery of numbers: all metrics of predicted numbers."""

import inspect
from dataclasses import replace
from functools import partial

import numpy as np
from battery import Case, Family, Rows, named, on_rows, set_to
from scipy.stats import pearsonr
from sklearn import metrics as sk

import skci


def mean(weights, values):
    """Weighted mean of a column, shape (...)."""
    return weights @ values / weights.sum(axis=-1)


def covariance(weights, first, second):
    first, second = first - first.mean(), second - second.mean()
    return mean(weights, first * second) - mean(weights, first) * mean(weights, second)


def of_losses(loss):
    """Mean of a loss of the truth and the prediction."""
    return lambda weights, y, p: mean(weights, loss(y, p))[..., np.newaxis]


def root_mean_squared_error(weights, y, p):
    return np.sqrt(mean(weights, (y - p) ** 2))[..., np.newaxis]


def pinball(alpha, error):
    return np.maximum(alpha * error, (alpha - 1) * error)


def d2_pinball(alpha, weights, y, p):
    """One less the loss over that of the best constant, which is among the truths."""
    loss = weights @ pinball(alpha, y - p)
    of_constants = weights @ pinball(alpha, np.subtract.outer(y, y))
    return (1 - loss / of_constants.min(axis=-1))[..., np.newaxis]


def tweedie_deviance(power, y, mu):
    """Unit deviance, up to terms in y that are absent from ``d2_tweedie``'s means."""
    if power == 0:
        return (y - mu) ** 2
    if power == 1:
        return 2 * (y * np.log(y / mu) - y + mu)
    if power == 2:
        return 2 * (np.log(mu / y) + y / mu - 1)
    return 2 * (
        y ** (2 - power) / ((1 - power) * (2 - power))
        - y * mu ** (1 - power) / (1 - power)
        + mu ** (2 - power) / (2 - power)
    )


def d2_tweedie(power, weights, y, p):
    centre = np.expand_dims(mean(weights, y), -1)
    null = (weights * tweedie_deviance(power, y, centre)).sum(axis=-1)
    return (1 - weights @ tweedie_deviance(power, y, p) / null)[..., np.newaxis]


def root_mean_squared_log_error(weights, y, p):
    return root_mean_squared_error(weights, np.log1p(y), np.log1p(p))


def middle(values, weights):
    """Value in the middle, of two the mean: at most half of the weight is beyond."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    ends = np.searchsorted(share, [0.5 - 1e-12, 0.5 + 1e-12])
    return values[order[ends]].mean()


def median_absolute_error(weights, y, p):
    return np.array([middle(np.abs(y - p), weights)])


def woodruff(rows, weights):
    """Influence on the distribution of the errors at their median, over its slope.

    The slope is that of the distribution, interpolated between the middles of its
    steps, from 1.96 deviations of the share below the median to as many above.
    """
    errors, share = np.abs(rows.y - rows.p), weights / weights.sum()
    median = middle(errors, weights)
    at = np.argsort(errors)
    steps = np.cumsum(share[at]) - share[at] / 2
    steps[errors[at] == median] = 0.5
    reach = 1.96 * np.sqrt(0.25 / len(rows))
    low, high = np.interp([0.5 - reach, 0.5 + reach], steps, errors[at])
    side = np.sign(errors - median) / 2
    influence = share * (side - share @ side) * (high - low) / (2 * reach)
    return influence[:, np.newaxis]


def explained_variance(weights, y, p):
    error = y - p
    share = covariance(weights, error, error) / covariance(weights, y, y)
    return (1 - share)[..., np.newaxis]


def pearson_correlation(weights, y, p):
    spread = covariance(weights, y, y) * covariance(weights, p, p)
    return (covariance(weights, y, p) / np.sqrt(spread))[..., np.newaxis]


def scipy_correlation(y, p, sample_weight=None):
    if sample_weight is None:
        return pearsonr(y, p).statistic
    both = np.cov(y, p, aweights=sample_weight)
    return both[0, 1] / np.sqrt(both[0, 0] * both[1, 1])


LOSSES = {
    "mean_squared_error": lambda y, p: (y - p) ** 2,
    "mean_absolute_error": lambda y, p: np.abs(y - p),
    "mean_absolute_percentage_error": lambda y, p: np.abs((y - p) / y),
    "mean_squared_log_error": lambda y, p: (np.log1p(y) - np.log1p(p)) ** 2,
    "mean_poisson_deviance": partial(tweedie_deviance, 1),
    "mean_gamma_deviance": partial(tweedie_deviance, 2),
    "mean_tweedie_deviance": partial(tweedie_deviance, 0),
    "mean_pinball_loss": lambda y, p: pinball(0.5, y - p),
}
"""Metrics that are the mean of a loss."""

NAMED = {
    **{name: of_losses(loss) for name, loss in LOSSES.items()},
    "root_mean_squared_error": root_mean_squared_error,
    "root_mean_squared_log_error": root_mean_squared_log_error,
    "r2": partial(d2_tweedie, 0),
    "explained_variance": explained_variance,
    "d2_absolute_error": partial(d2_pinball, 0.5),
    "d2_tweedie": partial(d2_tweedie, 0),
}
CASES = {
    **{name: named(name, textbook) for name, textbook in NAMED.items()},
    "median_absolute_error": named(
        "median_absolute_error",
        median_absolute_error,
        empirical_influence=woodruff,
        smooth=False,
    ),
    "mean_absolute_scaled_error": Case(
        skci.MeanAbsoluteScaledErrorCI([3.0, 5, 2, 8, 4, 4], seasonality=2),
        of_losses(lambda y, p: np.abs(y - p) / np.mean([1, 3, 2, 4])),
    ),
    "mean_tweedie_deviance(1.5)": Case(
        skci.MeanTweedieDevianceCI(power=1.5),
        of_losses(partial(tweedie_deviance, 1.5)),
        partial(sk.mean_tweedie_deviance, power=1.5),
    ),
    "mean_pinball_loss(.9)": Case(
        skci.MeanPinballLossCI(alpha=0.9),
        of_losses(lambda y, p: pinball(0.9, y - p)),
        partial(sk.mean_pinball_loss, alpha=0.9),
    ),
    "d2_pinball": Case(skci.D2PinballCI(), partial(d2_pinball, 0.5)),
    **{
        f"d2_pinball({alpha:g})": Case(
            skci.D2PinballCI(alpha=alpha), partial(d2_pinball, alpha)
        )
        for alpha in (0.8, 0.9, 0.13)
    },
    **{
        f"d2_tweedie({power:g})": Case(
            skci.D2TweedieCI(power=power),
            partial(d2_tweedie, power),
            partial(sk.d2_tweedie_score, power=power),
        )
        for power in (-1, 1, 1.5, 2, 3)
    },
    "pearson_correlation": Case(
        skci.PearsonCorrelationCI(), pearson_correlation, scipy_correlation
    ),
}


# Several targets

SHARES = np.array([0.5, 0.3, 0.2])


def of_targets(textbook, multioutput, weights, y, p):
    """Average a metric of several targets."""
    columns = zip(y.T, p.T, strict=True)
    values = np.concatenate([textbook(weights, *own) for own in columns], axis=-1)
    if not isinstance(multioutput, str):
        shares = multioutput
    elif multioutput == "raw_values":
        return values
    elif multioutput == "uniform_average":
        shares = np.ones(y.shape[1])
    else:
        variances = [covariance(weights, column, column) for column in y.T]
        shares = np.stack(variances, axis=-1)
    return (values * shares).sum(-1, keepdims=True) / shares.sum(-1, keepdims=True)


def target_cases():
    options = {
        "raw": ("raw_values", ["mean_squared_error", "r2", "median_absolute_error"]),
        "uniform": ("uniform_average", CASES),
        "shares": (SHARES, ["mean_squared_error", "r2"]),
        "variance": ("variance_weighted", ["explained_variance", "r2"]),
    }
    for option, (multioutput, names) in options.items():
        for name in names:
            if "(" in name:
                continue  # other parameters
            case = CASES[name]
            alone = case.scikit is None or "multioutput" not in signature(case.scikit)
            influence = partial(influence_on_targets, case, option)
            yield (
                f"{name}_{option}",
                replace(
                    case,
                    metric=set_to(case.metric, multioutput=multioutput),
                    textbook=partial(of_targets, case.textbook, multioutput),
                    scikit=None
                    if alone
                    else partial(case.scikit, multioutput=multioutput),
                    empirical_influence=case.empirical_influence and influence,
                ),
            )


def influence_on_targets(case, option, rows, weights):
    """Influence on each target, or on their mean."""
    pairs = [Rows(y, p, y, p) for y, p in zip(rows.y.T, rows.p.T, strict=True)]
    each = np.hstack([case.influence(pair, weights) for pair in pairs])
    return each if option == "raw" else each.mean(axis=1, keepdims=True)


def signature(function):
    return inspect.signature(function).parameters


def some_numbers(n=151, seed=0, repeats=1):
    """Draw positive numbers, for which every deviance is defined, and predictions."""
    rng = np.random.default_rng(seed)
    y = rng.gamma(3.0, size=n) + 1
    p = np.abs(y + rng.normal(scale=0.8, size=n)) + 0.1
    y, p = np.repeat(y, repeats), np.repeat(p, repeats)
    return Rows(y, p, y, p)


def some_targets(n=151, seed=0, repeats=1):
    """Draw three columns of numbers, whose errors depend on each other."""
    rng = np.random.default_rng(seed)
    y = rng.gamma(3, size=(n, 3)) * [1, 2, 3] + 1
    errors = rng.multivariate_normal(np.zeros(3), 0.4 * np.eye(3) + 0.6, n)
    p = np.abs(y + errors * [0.5, 1, 2]) + 0.1
    y, p = np.repeat(y, repeats, axis=0), np.repeat(p, repeats, axis=0)
    return Rows(y, p, y, p)


Y = np.arange(1.0, 31)
DEGENERATE = {
    "no error": (Y, Y),
    "one error": (Y, np.where(Y == 7, 9, Y)),
    "a constant error": (Y, Y + 1),
    "a constant truth": (np.full(30, 3.0), Y),
    "a constant prediction": (Y, np.full(30, 3.0)),
    "two rows": (Y[:2], Y[1:3]),
    "one row": (Y[:1], Y[1:2]),
}

FAMILY = Family(
    CASES,
    some_numbers,
    [some_numbers(201, seed=1, repeats=20)],
    reads="values",
    degenerate=on_rows(DEGENERATE),
)

OTHERS = np.stack([Y, Y**2], axis=1)
ANSWERS = OTHERS + np.resize([1, -0.5, 2], (30, 1))
DEGENERATE_TARGETS = {
    data: [
        np.column_stack([column, others[: len(column)]])
        for column, others in zip(columns, (OTHERS, ANSWERS), strict=True)
    ]
    for data, columns in DEGENERATE.items()
}
"""A degenerate target beside two that are not."""

FAMILY_OF_TARGETS = Family(
    dict(target_cases()),
    some_targets,
    [some_targets(201, seed=11, repeats=20)],
    reads="values",
    degenerate=on_rows(DEGENERATE_TARGETS),
)
