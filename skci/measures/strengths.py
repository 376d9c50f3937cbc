r"""Strengths of models from pairwise votes, by the model of Bradley and Terry.

The log-odds of the outcomes of a vote are linear: of models i and j that come first and
second, with a position effect :math:`\delta`, covariates x and the parameter
:math:`\nu` of ties [1]_,

.. math:: \log p_\text{first} &= \theta_i + \delta + x^T \gamma + c , \\
    \log p_\text{second} &= \theta_j + c , \\
    \log p_\text{tie} &= \log \nu + \tfrac12 (\theta_i + \theta_j + \delta + x^T \gamma)
    + c .

References
----------
.. [1] Davidson (1970). On extending the Bradley-Terry model to accommodate ties in
   paired comparison experiments. Journal of the American Statistical Association 65,
   317-328.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.sparse import coo_array, csr_array, hstack, vstack
from scipy.sparse.csgraph import connected_components
from scipy.special import log_softmax

from skci._arrays import Array, cached_property

FIRST, SECOND, TIE = range(3)
_TINY = 1e-300
_SINGULAR = 1e-10  # eigenvalue relative to the largest
_GAIN = 1e-6


@dataclass(frozen=True, eq=False)
class Votes:
    """Distinct votes, and how much each weighs."""

    first: Array
    """Number of the model that comes first, (m,)."""
    second: Array
    outcome: Array
    """FIRST, SECOND or TIE."""
    covariates: Array
    """Of the first model, relative to the second, (m, k)."""
    weights: Array
    n_models: int
    has_position: bool = False

    @property
    def has_ties(self) -> bool:
        """Whether there are ties."""
        return bool((self.outcome == TIE).any())

    @property
    def has_effects(self) -> bool:
        """Whether there are effects besides strengths and ties."""
        return self.has_position or self.covariates.shape[1] > 0

    @cached_property
    def _wins(self) -> tuple[Array, Array, Array]:
        """Winner and loser of each vote, in any order for ties, and mask of ties."""
        of_second = self.outcome == SECOND
        winner = np.where(of_second, self.second, self.first)
        loser = np.where(of_second, self.first, self.second)
        return winner, loser, self.outcome == TIE

    def sets(self, connection: Literal["weak", "strong"]) -> list[Array]:
        """Sets of models that are connected by wins and losses; ties are both.

        Between two "weak" sets there are no votes, and between two "strong" ones all
        votes are for the same set.
        """
        winner, loser, tied = self._wins
        edges = (
            np.concatenate([winner, loser[tied]]),
            np.concatenate([loser, winner[tied]]),
        )
        size = self.n_models
        graph = coo_array((np.ones(len(edges[0])), edges), shape=(size, size))
        number, sets = connected_components(graph, connection=connection)
        return [np.flatnonzero(sets == k) for k in range(number)]

    def one_sided(self) -> tuple[Array, str] | None:
        """Find a smallest set of models with no "win", or no "loss", against others.

        None if there is no such set, which is the condition of Ford (1957).
        """
        winner, loser, _ = self._wins
        sets, found = self.sets("strong"), []
        for each in sets if len(sets) > 1 else []:
            wins, loses = np.isin(winner, each), np.isin(loser, each)
            if not (wins & ~loses).any():
                found.append((each, "win"))
            if not (loses & ~wins).any():
                found.append((each, "loss"))
        return min(found, key=lambda pair: len(pair[0]), default=None)

    @property
    def without_effects(self) -> Votes:
        """Distinct wins and ties, regardless of the position and covariates."""
        winner, loser, tied = self._wins
        one, other = np.minimum(winner, loser), np.maximum(winner, loser)
        votes = np.where(tied, [one, other, tied], [winner, loser, tied])
        shape = self.n_models, self.n_models, 2
        distinct = np.unique(np.ravel_multi_index(tuple(votes), shape))
        first, second, is_tie = np.unravel_index(distinct, shape)
        outcome = np.where(is_tie, TIE, FIRST)
        m = len(first)
        return Votes(
            first, second, outcome, np.zeros((m, 0)), np.ones(m), self.n_models
        )

    @cached_property
    def _regressors(self) -> list[Any]:
        """Regressors of the log-odds of each outcome, sparse, (m, parameters)."""
        m = len(self.first)
        models = [
            csr_array((np.ones(m), (np.arange(m), each)), (m, self.n_models))
            for each in (self.first, self.second)
        ]
        position = np.ones((m, int(self.has_position)))
        effects = csr_array(np.hstack([position, self.covariates]))
        none = csr_array((m, int(self.has_ties)))
        first = hstack([models[0], effects, none], format="csr")
        second = hstack([models[1], 0 * effects, none], format="csr")
        if not self.has_ties:
            return [first, second]
        halves = [(models[0] + models[1]) / 2, effects / 2]
        tie = hstack([*halves, csr_array(np.ones((m, 1)))], format="csr")
        return [first, second, tie]

    @cached_property
    def _margins(self) -> Any:
        """Regressors of the outcome of a vote less those of the next, sparse.

        The log-odds of a tie are between those of the two wins, which it is next to.
        """
        next_to = {FIRST: [SECOND], SECOND: [FIRST]}
        if self.has_ties:
            next_to = {FIRST: [TIE], SECOND: [TIE], TIE: [FIRST, SECOND]}
        regressors = self._regressors
        margins = [
            (regressors[observed] - regressors[each])[self.outcome == observed]
            for observed, others in next_to.items()
            for each in others
        ]
        found = vstack(margins, format="csr")
        largest = np.maximum(abs(found).max(axis=0).toarray().ravel(), _TINY)
        return found.multiply(1 / largest).tocsr()

    @property
    def is_identified(self) -> bool:
        """Whether votes tell the effects apart: all but a constant of the strengths."""
        margins = self._margins
        values = np.linalg.eigvalsh((margins.T @ margins).toarray() / margins.shape[0])
        return bool((values > _SINGULAR * values.max()).sum() == len(values) - 1)

    def recession(self) -> Array | None:
        r"""Strengths of a direction in which the likelihood rises without a maximum.

        None if there is no such direction. In it no vote becomes less probable, and
        some votes more so (Albert and Anderson, 1984, Biometrika 71, 1-10). With
        :math:`v_i - v_j` and c, of log of nu, that is :math:`(v_i - v_j) / 2 \geq c`
        for each win of i over j, and :math:`c \geq |v_i - v_j| / 2` for each tie.
        """
        margins = self._margins
        gain = -np.asarray(margins.sum(axis=0)).ravel()
        limits = np.zeros(margins.shape[0])
        found: Any = linprog(gain, A_ub=-margins, b_ub=limits, bounds=(-1, 1))
        rises = (margins @ found.x).max() > _GAIN
        return found.x[: self.n_models] if rises else None

    def fit(self) -> tuple[Array, Array]:
        """Maximise the likelihood, with strengths whose mean is zero.

        Returns strengths, position effect, coefficients of covariates and log of nu,
        (P,), and the influence values of each distinct vote on them, (m, P).

        Newton's method with scipy's trust region, on all parameters; strengths are only
        determined up to a constant, which is fixed by a penalty of their mean.
        """
        size, shares = self.n_models, self.weights / self.weights.sum()
        regressors, rows = self._regressors, np.arange(len(self.first))
        observed = np.zeros((len(rows), len(regressors)))
        observed[rows, self.outcome] = 1
        n_parameters = regressors[0].shape[1]
        constant = np.zeros(n_parameters)
        constant[:size] = 1 / size

        def logs(beta: Array) -> Array:
            each = np.stack([x @ beta for x in regressors], axis=1)
            return log_softmax(each, axis=1)

        def loss(beta: Array) -> float:
            penalty = (constant @ beta) ** 2 / 2
            likelihood = shares @ logs(beta)[rows, self.outcome]
            return float(penalty - likelihood)

        def gradient(beta: Array) -> Array:
            errors = (observed - np.exp(logs(beta))) * shares[:, np.newaxis]
            total = sum(x.T @ e for x, e in zip(regressors, errors.T, strict=True))
            return constant * (constant @ beta) - total

        def information(beta: Array) -> Array:
            p = np.exp(logs(beta)).T
            mean = sum(
                x.multiply(q[:, np.newaxis]) for x, q in zip(regressors, p, strict=True)
            )
            products = -(mean.T @ mean.multiply(shares[:, np.newaxis]))
            for x, q in zip(regressors, p, strict=True):
                products = products + x.T @ x.multiply((q * shares)[:, np.newaxis])
            return products.toarray() + np.outer(constant, constant)

        found = minimize(
            loss,
            np.zeros(n_parameters),
            jac=gradient,
            hess=information,
            method="trust-exact",
            options={"gtol": 1e-9},
        )
        beta = found.x
        beta = beta - np.linalg.solve(information(beta), gradient(beta))  # last digits
        beta[:size] -= beta[:size].mean()
        # Neither the constant nor its penalty has a part in errors of the estimates.
        inverse = np.linalg.inv(information(beta))
        inverse[:size, :size] -= 1
        errors = observed - np.exp(logs(beta))
        influence: Array = sum(
            (x.multiply(e[:, np.newaxis])) @ inverse
            for x, e in zip(regressors, errors.T, strict=True)
        )
        return beta, influence
