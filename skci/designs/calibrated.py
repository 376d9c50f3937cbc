"""Rows weighted to a target population."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import optimize
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import scale

from skci._arrays import EPS, Array
from skci._validation import (
    as_numbers,
    join_names,
    named_columns,
)
from skci.inference.designs.design import Component

_TOLERANCE = 1e-9  # for the means of the calibrated sample


class Calibrated:
    r"""Rows weighted to a target population.

    The estimate then refers to the target population, provided that test rows and
    target rows with equal calibration variables have the same distribution. If the
    variables explain errors, known margins also make the interval narrower.

    Parameters
    ----------
    X : data frame or mapping of str to array-like of shape (n_samples,)
        Calibration variables of the test set by name, or names of columns of `data`.
    margins : mapping of str to mapping, optional
        Proportions, or counts, of all levels of variables in the target population, as
        in ``{"sex": {"f": 0.51, "m": 0.49}}``. The weights are raked to them.
    means : mapping of str to float, optional
        Means of variables in the target population. Without `margins`, the generalised
        regression estimator gives the weights. If one of its weights is not positive,
        raking is used instead.
    like : data frame or mapping of str to array-like of shape (n_target,), optional
        The same variables in an independent sample of the target population, without
        labels. Weights are the odds that a row belongs to this sample, from a
        cross-fitted logistic regression, raked to the means of this sample. The
        interval allows for the sampling error of these means.
    groups : array-like of shape (n_samples,), optional
        Cluster of each row. By default rows are independent.

    Raises
    ------
    ValueError
        If the test set lacks a level of the target, a mean is outside the range of the
        test set, or no positive weights satisfy all margins and means.

    Notes
    -----
    Let x be the calibration variables, and let d be the base weights: `sample_weight`,
    multiplied by the odds if a sample of the target population is passed as `like`. An
    influence value L at the calibrated weights is replaced by its residual

    .. math:: L_i - x_i^T B, \quad B = \Bigl(\sum_i d_i x_i x_i^T\Bigr)^{-1}
        \sum_i d_i x_i L_i

    (Deville and Sarndal [1]_). If the target is a sample of m rows, the variance of the
    mean of :math:`x_j^T B` over these rows is added. If L is linear in x, the result is
    the influence function of an estimate with estimated odds (Hirano, Imbens and Ridder
    [2]_).

    References
    ----------
    .. [1] Deville and Sarndal (1992). Calibration estimators in survey sampling.
       Journal of the American Statistical Association 87, 376-382.
    .. [2] Hirano, Imbens and Ridder (2003). Efficient estimation of average treatment
       effects using the estimated propensity score. Econometrica 71, 1161-1189.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import AccuracyCI
    >>> from skci.designs import Calibrated
    >>> rng = np.random.default_rng(0)
    >>> y_true, old = rng.integers(0, 2, 400), rng.random(400) < 0.2
    >>> y_pred = np.where(rng.random(400) < 0.1 + 0.4 * old, 1 - y_true, y_true)
    >>> age = {"age": np.where(old, "old", "young")}
    >>> target = Calibrated(age, margins={"age": {"old": 0.5, "young": 0.5}})
    >>> print(AccuracyCI()(y_true, y_pred, design=target))
    0.750 [0.689, 0.802]
    >>> print(AccuracyCI()(y_true, y_pred))
    0.848 [0.809, 0.879]
    """

    like: dict[str, Any]
    _base: Array
    _basis: Array
    _target: Array
    _shares: Array

    def __init__(
        self,
        X: Any,
        *,
        margins: Mapping[str, Mapping[Any, float]] | None = None,
        means: Mapping[str, float] | None = None,
        like: Any = None,
        groups: Any = None,
    ) -> None:
        variables = named_columns(X, "X", "x")
        self.margins, self.means = margins or {}, means or {}
        self.like = {} if like is None else named_columns(like, "like", "x")
        self.groups = groups
        names = self.like or {**self.margins, **self.means}
        if not names or (self.like and (margins or means)):
            raise ValueError("Calibrated must have margins or means, or else like")
        for name in names:
            if name not in variables:
                raise ValueError(f"X must have {name!r}, got {[*variables]}")
            if hasattr(self, name):
                raise ValueError(f"X must not name a variable {name!r}; rename it")
            setattr(self, name, variables[name])
        self._variables = tuple(names)

    @property
    def columns(self) -> tuple[str, ...]:
        """Attributes with a value for each row: the variables and the clusters."""
        return self._variables if self.groups is None else (*self._variables, "groups")

    @property
    def n_units(self) -> int:
        """Number of rows or, with `groups`, of clusters."""
        return self._n_rows if self.groups is None else len(np.unique(self.groups))

    @property
    def _n_rows(self) -> int:
        return len(getattr(self, self._variables[0]))

    def reweighted(self, weights: Array) -> tuple[Calibrated, Array]:
        """Calibrate the weights of the rows.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            Weights of the rows, all positive.

        Returns
        -------
        design : Calibrated
            Copy that stores the weights.
        weights : ndarray of shape (n_samples,)
            Calibrated weights, with the same sum as `weights`.
        """
        design = copy(self)
        columns, means = (self._of_target(), []) if self.like else self._of_margins()
        basis = np.stack([*columns.values()], axis=1).astype(float)
        design._basis, target = basis[: self._n_rows], basis[self._n_rows :]
        if self.like:
            means, weights = target.mean(axis=0), weights * self._odds(basis[:, 1:])
        design._base, design._target = weights, target
        lows, highs = design._basis.min(axis=0), design._basis.max(axis=0)
        for label, mean, low, high in zip(columns, means, lows, highs, strict=True):
            if not low <= mean <= high:
                raise ValueError(
                    "X must have rows on both sides of the target, got values from "
                    f"{low:.4g} to {high:.4g} of {label}, whose mean in the target is "
                    f"{mean:.4g}; merge levels, or leave the variable out"
                )
        linear = not (self.margins or self.like)
        weights = _calibrated(weights, design._basis, np.array(means), linear=linear)
        design._shares = weights / weights.sum()
        return design, weights

    def _of_margins(self) -> tuple[dict[str, Array], list[float]]:
        """Calibration variables of the test set, and their means in the target."""
        columns, means = {"1": np.ones(self._n_rows)}, [1.0]
        for name, shares in self.margins.items():
            values, total = np.asarray(getattr(self, name)), sum(shares.values())
            if unknown := {*values.tolist()} - shares.keys():
                raise ValueError(
                    f"margins[{name!r}] must have all levels of X, got none for "
                    f"{sorted(map(repr, unknown))}"
                )
            columns |= {f"{name} = {level!r}": values == level for level in shares}
            means += [share / total for share in shares.values()]
        for name in self.means:
            columns[name] = as_numbers(getattr(self, name), f"X[{name!r}]")
        return columns, [*means, *self.means.values()]

    def _of_target(self) -> dict[str, Array]:
        """Calibration variables of the test set, followed by the target."""
        columns: dict[str, Array] = {}
        for name, values in self.like.items():
            both = np.concatenate([getattr(self, name), values])
            if both.dtype.kind in "biuf":
                columns[name] = scale(both.astype(float))
                continue
            texts = both.astype(str)
            columns |= {
                f"{name} = {x!r}": texts == x for x in np.unique(texts).tolist()
            }
        return {"1": np.ones(len(both))} | columns

    def _odds(self, variables: Array) -> Array:
        """Cross-fitted odds that rows of the test set belong to the target."""
        is_target = np.arange(len(variables)) >= self._n_rows
        folds = StratifiedKFold(shuffle=True, random_state=0)
        model, method = LogisticRegression(), "predict_proba"
        both = cross_val_predict(model, variables, is_target, cv=folds, method=method)
        negative, positive = both[: self._n_rows].T
        odds: Array = positive / negative
        return odds

    def components(self, influences: Any) -> Iterator[Component]:
        """Sum the values of rows within clusters.

        Parameters
        ----------
        influences : array-like of shape (n_samples, K)
            Weighted values of the rows.

        Yields
        ------
        Component
            Totals of clusters, or the rows.
        """
        values = np.asarray(influences)
        units = np.arange(len(values)) if self.groups is None else self.groups
        component = Component.of_units(values, units)
        yield replace(component, blocks=np.zeros(len(component.totals), dtype=int))

    def variance_components(self, influences: Any) -> Iterator[Component]:
        """Sum the residuals from the regression on the calibration variables.

        Parameters
        ----------
        influences : array-like of shape (n_samples, K)
            Weighted influence values of the rows.

        Yields
        ------
        Component
            Totals of the residuals and, with a target sample, fitted values of its
            rows.
        """
        shares, root = self._shares[:, np.newaxis], np.sqrt(self._base)[:, np.newaxis]
        values = np.asarray(influences) / shares
        slopes = np.linalg.lstsq(root * self._basis, root * values, rcond=None)[0]
        yield from self.components(shares * (values - self._basis @ slopes))
        if self.like:
            fitted = self._target @ slopes
            yield Component((fitted - fitted.mean(axis=0)) / len(fitted))

    def __str__(self) -> str:
        how = "like a sample of the target" if self.like else "calibrated"
        largest = self._shares.max() * self._n_rows
        names = join_names([*self._variables])
        return f"{how} by {names} (largest weight {largest:.2g} times the mean)"

    def __repr__(self) -> str:
        return f"Calibrated({', '.join(self._variables)})"


def _calibrated(base: Array, basis: Array, means: Array, *, linear: bool) -> Array:
    """Positive weights near the base weights, at which the basis has given means."""
    shares, centred = base / base.sum(), basis - means
    if linear:
        gram = (basis.T * shares) @ basis
        factor = 1 + basis @ (np.linalg.pinv(gram) @ (means - shares @ basis))
        if (factor > 0).all():
            return base * factor

    def excess(slopes: Array) -> Array:
        exponents = centred @ slopes
        tilted = shares * np.exp(exponents - exponents.max())
        means_less_target: Array = tilted @ centred / tilted.sum()
        return means_less_target

    start = np.zeros(len(means))
    solution = optimize.least_squares(excess, start, xtol=EPS, ftol=EPS, gtol=EPS)
    if not (np.abs(solution.fun) < _TOLERANCE).all():
        raise ValueError(
            "margins and means must be possible for positive weights of the test set, "
            "got a target outside of its support; leave a variable out, or merge levels"
        )
    weights = base * np.exp(centred @ solution.x)
    return weights * (base.sum() / weights.sum())
