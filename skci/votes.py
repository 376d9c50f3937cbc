"""Joint reports of model strengths from pairwise votes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._options import with_hints
from skci._validation import (
    as_numbers,
    check_choice,
    check_settings,
    column_names,
    first_names,
    join_names,
    named_columns,
)
from skci.data.frames import columns_of_data
from skci.data.row_options import RowOptions, distinct_names
from skci.data.rows import Alignment, as_column, check_columns, check_length
from skci.inference.estimates import ManyContrasts
from skci.inference.joint import JointEstimate
from skci.inference.parameter import ParameterLabels, TableParameter
from skci.inference.row_estimates import RowEstimates
from skci.measures.bradley_terry import FIRST, SECOND, TIE, Votes
from skci.measures.traits import BY_INFLUENCE, MeasureProperties
from skci.reports.kinds import VotesReport

STRENGTH, POSITION, TIES = "strength", "position", "ties"
_OUTCOMES = {"first": FIRST, "second": SECOND, "tie": TIE}
_OUTCOMES |= {"model_a": FIRST, "model_b": SECOND}  # labels of chatbot arenas
_OUTCOMES |= {"tie (bothbad)": TIE, "both_bad": TIE}
_MAX_NAMED = 6
_ELO = 400 / math.log(10)
_ELO_MEAN = 1000.0
_SCALES = {"logit": (0.0, 1.0), "elo": (_ELO_MEAN, _ELO)}


@with_hints
def votes_report(
    first: Any,
    second: Any,
    outcome: Any,
    *,
    data: Any = None,
    position: bool = False,
    covariates: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    scale: str = "logit",
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> VotesReport:
    r"""Joint confidence intervals for model strengths from pairwise votes.

    A vote compares two models, such as two answers to a prompt or two teams. Strengths
    are parameters of the Bradley-Terry model, with Davidson's extension for ties: a
    model of strength :math:`\theta_i` beats a model of strength :math:`\theta_j` with
    log-odds :math:`\theta_i - \theta_j`. The mean strength is zero.

    Parameters
    ----------
    first : array-like of shape (n_votes,), or str
        Names of the first model of each vote, or a column of `data`.
    second : array-like of shape (n_votes,), or str
        Names of the second model of each vote, or a column of `data`.
    outcome : array-like of shape (n_votes,), or str
        Outcomes "first", "second" or "tie", or a column of `data`. The labels of
        chatbot arenas are also accepted: "model_a", "model_b", "tie", "tie (bothbad)"
        and "both_bad". The last two count as ties.
    data : data frame or mapping of str to array-like, optional
        Data frame or mapping. The other parameters may then be names of columns.
    position : bool, default=False
        Whether to estimate the advantage of being the first model, such as the home
        team or the answer on the left. The report then contains this advantage, in
        log-odds, as "position".
    covariates : array-like of shape (n_votes,) or (n_votes, k), mapping or data frame
        Covariates that affect the outcome in addition to the models, such as the length
        of the first answer minus the length of the second answer. The reported
        strengths refer to votes whose covariates are zero.
    groups : array-like of shape (n_votes,), optional
        Clusters of votes that may be dependent, such as votes by one voter or on one
        prompt.
    sample_weight : array-like of shape (n_votes,), optional
        Weights of the votes; only ratios of weights matter.
    scale : {"logit", "elo"}, default="logit"
        Scale of the strengths: log-odds, or Elo points with a mean of 1000. A
        difference of 400 Elo points means odds of ten to one.
    confidence_level : float, default=0.95
        Simultaneous coverage probability of the intervals, between 0 and 1.
    random_state : int, Generator, RandomState or None
        Seed of the quasi-Monte Carlo points for the critical value. None means a fixed
        seed.

    Returns
    -------
    VotesReport
        Report with the strength of each model; differences are log-odds of winning.

    Raises
    ------
    ValueError, TypeError
        If an option or the votes are not as described, or strengths have no finite
        estimate. This happens if some models are not connected to the remaining models,
        or only win or only lose against them; if all votes are ties; or, with ties, if
        no weaker model ever wins.

    Notes
    -----
    The estimates maximise the likelihood [2]_. Their covariance is the sandwich
    estimator from the influence values of the votes, summed within clusters, which is
    valid even if the model is misspecified [1]_.

    References
    ----------
    .. [1] White (1982). Maximum likelihood estimation of misspecified models.
       Econometrica 50, 1-25.
    .. [2] Davidson (1970). Journal of the American Statistical Association 65, 317-328.

    Examples
    --------
    >>> from skci import votes_report
    >>> first = ["A", "A", "B", "B", "C", "C"] * 40
    >>> second = ["B", "C", "A", "C", "A", "B"] * 40
    >>> outcome = (["first"] * 6 + ["second", "first", "first"] * 2) * 20
    >>> report = votes_report(first, second, outcome)
    >>> report["C", "strength"].low > 0
    True
    """
    settings = check_settings(confidence_level, random_state)
    check_choice(scale, list(_SCALES), "scale")
    rows = RowOptions(sample_weight=sample_weight, groups=groups)
    columns = {"first": first, "second": second, "outcome": outcome}
    columns["covariates"] = covariates
    columns, rows = columns_of_data(data, columns, rows)
    models, coded, names = _read(columns)
    checked = rows.read(len(coded), "outcome", Alignment().check)
    sample = checked.sample_without_labels()
    distinct, index = np.unique(coded[checked.kept], axis=0, return_inverse=True)
    index = index.ravel()
    first_codes, second_codes, result = distinct[:, :3].astype(int).T
    votes = Votes(
        first_codes,
        second_codes,
        result,
        covariates=distinct[:, 3:],
        weights=np.bincount(index, sample.rows.counts, len(distinct)),
        n_models=len(models),
        has_position=bool(position),
    )
    _check_strengths(votes.without_effects, models)
    _check_effects(votes)
    parameters = _parameters(votes, models, names, index, scale)
    row_estimates = RowEstimates(tuple(parameters), sample.rows, sample.design)
    estimates = ManyContrasts.from_estimates(row_estimates).with_minimum_df
    return VotesReport(JointEstimate(estimates, **settings), _in_elo=scale == "elo")


def _read(columns: Mapping[str, Any]) -> tuple[list[str], Array, list[str]]:
    """Return the model names, the coded votes and the covariate names.

    Coded votes have the columns first model, second model, outcome and covariates.
    """
    read = {}
    for name in ("first", "second", "outcome"):
        read[name] = as_column(columns[name], name, several="pass one column")
        check_length(read[name], len(read["first"]), name, "first")
    both = np.concatenate([read["first"], read["second"]])
    names, position = distinct_names(both, "first and second", "model")
    if len(names) < 2:
        raise ValueError(f"first and second must name several models, got {len(names)}")
    first, second = np.split(position, 2)
    if len(same := np.flatnonzero(first == second)):
        raise ValueError(
            "first and second must name different models in each row, got "
            f"{names[first[same[0]]]!s} for both in row {same[0]}"
        )
    result = []
    for row, outcome in enumerate(read["outcome"].tolist()):
        if str(outcome) not in _OUTCOMES:
            raise ValueError(
                f"outcome must be one of {list(_OUTCOMES)}, got {outcome!r} in row "
                f"{row}; replace names of winners, or scores such as 1, 0 and 0.5, by "
                "'first', 'second' and 'tie'"
            )
        result.append(_OUTCOMES[str(outcome)])
    covariates, extra = columns["covariates"], {}
    if column_names(covariates) is not None or isinstance(covariates, Mapping):
        named = named_columns(covariates, "covariates", "covariate")
        extra = {k: as_numbers(x, f"covariates[{k!r}]") for k, x in named.items()}
    elif covariates is not None:
        unnamed = check_columns(covariates, "covariates").T
        extra = {f"covariate {k}": column for k, column in enumerate(unnamed, 1)}
    for values in extra.values():
        check_length(values, len(first), "covariates", "first")
    coded = np.column_stack([first, second, result, *extra.values()])
    return [*map(str, names.tolist())], coded, [*map(str, extra)]


def _check_strengths(votes: Votes, models: list[str]) -> None:
    """Check that the likelihood without covariates has a maximum."""

    def named(indices: Array) -> str:
        names = [models[k] for k in indices.tolist()]
        return join_names(first_names(names, _MAX_NAMED))

    parts = votes.sets("weak")
    if len(parts) > 1:
        raise ValueError(
            "first and second must connect all models by votes, directly or through "
            f"other models, got {len(parts)} sets of models without votes between "
            f"sets. The smallest set has the models {named(min(parts, key=len))}. "
            "Report each set separately"
        )
    if (votes.outcome == TIE).all():
        raise ValueError(
            "outcome must have wins, got only ties, from which log-odds of winning "
            "cannot be estimated"
        )
    if one_sided := votes.one_sided():
        part, missing = one_sided
        raise ValueError(
            "outcome must contain a win and a loss, or a tie, of every set of models "
            f"against the other models, got no {missing} of {named(part)}. Estimated "
            f"strengths are then infinite. Remove the votes on {named(part)}, or "
            "collect more votes"
        )
    direction = votes.recession()
    if direction is not None:
        order = named(np.argsort(-direction, kind="stable"))
        raise ValueError(
            "outcome must have wins of weaker models over stronger models, got only "
            f"wins in the order {order}, and ties between neighbours in this order. "
            "Estimated strengths are then not finite. Count ties as half a win for "
            "each model: replace each tie by 'first' and 'second', both with "
            "sample_weight 0.5 and in the same group"
        )


def _check_effects(votes: Votes) -> None:
    """Check that the effects of the position and of covariates can be estimated."""
    if not votes.has_effects:
        return
    if not votes.is_identified or votes.recession() is not None:
        raise ValueError(
            "position and covariates must have effects that can be estimated, got "
            "effects that are not finite or cannot be distinguished. An effect is not "
            "finite, for example, if the first model always wins. Remove position or a "
            "covariate"
        )


def _parameters(
    votes: Votes, models: list[str], names: list[str], index: Array, scale: str
) -> list[TableParameter]:
    """Return model strengths, and effects of position, covariates and ties."""
    estimates, influence = votes.fit()
    centre, factor = _SCALES[scale]
    effects = [POSITION] * votes.has_position + names + [TIES] * votes.has_ties
    keys = [ParameterLabels(STRENGTH, model) for model in models]
    keys += [ParameterLabels(effect, "all models") for effect in effects]
    properties: dict[str, Any] = {"bounds": (-math.inf, math.inf), **BY_INFLUENCE}
    parameters = []
    for k, key in enumerate(keys):
        is_model = k < len(models)
        slope, origin = (factor, centre) if is_model else (1.0, 0.0)
        trait = MeasureProperties(key.metric, has_better=is_model, **properties)
        value, values = origin + slope * float(estimates[k]), slope * influence[:, k]
        fields = {"key": key, "trait": trait, "method": "delta", "index": index}
        parameters.append(
            TableParameter.from_influence(value, values, votes.weights, **fields)
        )
    return parameters
