r"""Strengths of models from pairwise votes, by the Bradley-Terry model.

The log probabilities of the outcomes of a vote are linear. If models i and j are
presented first and second, with a position effect :math:`\delta`, covariates x and the
tie parameter :math:`\nu` [1]_,

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
_SINGULAR = 1e-10  # relative size of eigenvalues that count as zero
_GAIN = 1e-6


@dataclass(frozen=True, eq=False)
class Votes:
    """Distinct pairwise votes with weights."""

    first: Array
    """Index of the model presented first, (m,)."""
    second: Array
    outcome: Array
    """FIRST, SECOND or TIE, (m,)."""
    covariates: Array
    """Differences of covariates: first model minus second model, (m, k)."""
    weights: Array
    n_models: int
    has_position: bool = False

    @property
    def has_ties(self) -> bool:
        """Whether any vote is a tie."""
        return bool((self.outcome == TIE).any())

    @property
    def has_effects(self) -> bool:
        """Whether the model has a position effect or covariates."""
        return self.has_position or self.covariates.shape[1] > 0

    @cached_property
    def _wins(self) -> tuple[Array, Array, Array]:
        """Return the winner and the loser of each vote, and a mask of ties.

        The order of the models in a tie is arbitrary.
        """
        second_wins = self.outcome == SECOND
        winner = np.where(second_wins, self.second, self.first)
        loser = np.where(second_wins, self.first, self.second)
        return winner, loser, self.outcome == TIE

    def sets(self, connection: Literal["weak", "strong"]) -> list[Array]:
        """Return the connected components of the graph of wins.

        The graph has an edge for each win, and an edge in both directions for each tie.
        Models of different weakly connected components are never compared in a vote. If
        votes compare models of two strongly connected components, all winners belong to
        the same component.
        """
        winner, loser, tied = self._wins
        edges = np.hstack([[winner, loser], [loser[tied], winner[tied]]])
        size = self.n_models
        graph = coo_array((np.ones(edges.shape[1]), edges), shape=(size, size))
        number, sets = connected_components(graph, connection=connection)
        return [np.flatnonzero(sets == k) for k in range(number)]

    def one_sided(self) -> tuple[Array, str] | None:
        """Find the smallest set of models that never beats, or never loses to, others.

        Returns the indices of the models in the set, and the outcome that does not
        occur in votes against other models, "win" or "loss". If there is no such set,
        the result is None, and the estimates of all strengths are finite (Ford, 1957).
        """
        winner, loser, _ = self._wins
        sets, one_sided = self.sets("strong"), []
        for models in sets if len(sets) > 1 else []:
            wins, loses = np.isin(winner, models), np.isin(loser, models)
            if not (wins & ~loses).any():
                one_sided.append((models, "win"))
            if not (loses & ~wins).any():
                one_sided.append((models, "loss"))
        return min(one_sided, key=lambda pair: len(pair[0]), default=None)

    @property
    def without_effects(self) -> Votes:
        """Distinct wins and ties, ignoring the position effect and covariates."""
        winner, loser, tied = self._wins
        lower_index, upper_index = np.minimum(winner, loser), np.maximum(winner, loser)
        votes = np.where(tied, [lower_index, upper_index, tied], [winner, loser, tied])
        shape = self.n_models, self.n_models, 2
        distinct = np.unique(np.ravel_multi_index(tuple(votes), shape))
        first, second, is_tie = np.unravel_index(distinct, shape)
        outcome, ones = np.where(is_tie, TIE, FIRST), np.ones(len(first))
        return Votes(
            first, second, outcome, np.zeros((len(first), 0)), ones, self.n_models
        )

    @cached_property
    def _regressors(self) -> list[Any]:
        """Regressors of the log probability of each outcome, as sparse matrices.

        The matrix of an outcome has a row for each vote and a column for each
        parameter.
        """
        m = len(self.first)
        models = [
            csr_array((np.ones(m), (np.arange(m), model)), (m, self.n_models))
            for model in (self.first, self.second)
        ]
        position = np.ones((m, int(self.has_position)))
        effects = csr_array(np.hstack([position, self.covariates]))
        tie_column = csr_array((m, int(self.has_ties)))
        first = hstack([models[0], effects, tie_column], format="csr")
        second = hstack([models[1], 0 * effects, tie_column], format="csr")
        if not self.has_ties:
            return [first, second]
        halves = [(models[0] + models[1]) / 2, effects / 2]
        tie = hstack([*halves, csr_array(np.ones((m, 1)))], format="csr")
        return [first, second, tie]

    @cached_property
    def _margins(self) -> Any:
        """Regressors of the observed outcome minus those of an alternative outcome.

        The sparse matrix has a row for each pair of a vote and an alternative outcome.
        A win has one alternative: a tie or, if the data contain no ties, a win of the
        opponent. A tie has two alternatives: a win of either model.
        """
        adjacent = {FIRST: [SECOND], SECOND: [FIRST]}
        if self.has_ties:
            adjacent = {FIRST: [TIE], SECOND: [TIE], TIE: [FIRST, SECOND]}
        regressors = self._regressors
        margins = [
            (regressors[observed] - regressors[outcome])[self.outcome == observed]
            for observed, outcomes in adjacent.items()
            for outcome in outcomes
        ]
        stacked = vstack(margins, format="csr")
        largest = np.maximum(abs(stacked).max(axis=0).toarray().ravel(), _TINY)
        return stacked.multiply(1 / largest).tocsr()

    @property
    def is_identified(self) -> bool:
        """Whether the votes identify all parameters, except the mean strength."""
        margins = self._margins
        values = np.linalg.eigvalsh((margins.T @ margins).toarray() / margins.shape[0])
        return bool((values > _SINGULAR * values.max()).sum() == len(values) - 1)

    def recession(self) -> Array | None:
        r"""Find a direction in which the likelihood increases without a maximum.

        Returns the changes v of the strengths in this direction, or None if no such
        direction exists. Along the direction, no vote becomes less probable, and some
        votes become more probable (Albert and Anderson, 1984, Biometrika 71, 1-10). Let
        c be the change of :math:`\log \nu`. The condition is :math:`(v_i - v_j) / 2
        \geq c` for each win of i over j, and :math:`c \geq |v_i - v_j| / 2` for each
        tie.
        """
        margins = self._margins
        gain = -np.asarray(margins.sum(axis=0)).ravel()
        limits = np.zeros(margins.shape[0])
        solution: Any = linprog(gain, A_ub=-margins, b_ub=limits, bounds=(-1, 1))
        rises = (margins @ solution.x).max() > _GAIN
        return solution.x[: self.n_models] if rises else None

    def fit(self) -> tuple[Array, Array]:
        """Maximise the likelihood, with strengths of mean zero.

        Returns an array of P estimates: the strengths, the position effect, the
        coefficients of the covariates, and the logarithm of the tie parameter nu. Also
        returns the influence values of the m distinct votes, of shape (m, P).

        The method is Newton's, with the trust region of scipy. Strengths are determined
        only up to a constant, which is fixed by a penalty on their mean.
        """
        size, shares = self.n_models, self.weights / self.weights.sum()
        regressors, rows = self._regressors, np.arange(len(self.first))
        observed = np.zeros((len(rows), len(regressors)))
        observed[rows, self.outcome] = 1
        n_parameters = regressors[0].shape[1]
        constant = np.zeros(n_parameters)
        constant[:size] = 1 / size

        def logs(beta: Array) -> Array:
            scores = np.stack([x @ beta for x in regressors], axis=1)
            return log_softmax(scores, axis=1)

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

        optimum = minimize(
            loss,
            np.zeros(n_parameters),
            jac=gradient,
            hess=information,
            method="trust-exact",
            options={"gtol": 1e-9},
        )
        beta = optimum.x
        beta = beta - np.linalg.solve(information(beta), gradient(beta))  # last step
        beta[:size] -= beta[:size].mean()
        # The constant and its penalty do not contribute to errors of the estimates.
        inverse = np.linalg.inv(information(beta))
        inverse[:size, :size] -= 1
        errors = observed - np.exp(logs(beta))
        influence: Array = sum(
            (x.multiply(e[:, np.newaxis])) @ inverse
            for x, e in zip(regressors, errors.T, strict=True)
        )
        return beta, influence
