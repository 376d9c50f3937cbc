"""Rows weighted to a target population."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import scale

from skci import _validation
from skci._arrays import Array
from skci._options import short_repr
from skci._validation import check_choice, join_names, named_columns
from skci.inference.designs import calibration
from skci.inference.designs.design import Component

_ROUNDING = 0.03  # largest error of a sum of rounded proportions


class Calibrated:
    r"""Rows of a test set, weighted to represent a target population.

    The estimate then refers to the target population, provided that test rows and
    target rows with equal calibration variables have the same distribution. If the
    calibration variables predict errors, and the population means of these variables
    are known, the interval is also narrower.

    Parameters
    ----------
    X : data frame, mapping of str to array-like of shape (n_samples,), or list of str
        Calibration variables in the test set: a mapping by name, a data frame, or names
        of columns of `data`.
    margins : mapping of str to mapping or Series, optional
        Proportions, or counts, of all levels of variables in the target population, as
        in ``{"sex": {"f": 0.51, "m": 0.49}}``. The weights are raked to these margins.
    means : mapping or Series of float, optional
        Means of variables in the target population, by name. Without `margins`, the
        weights are computed by the generalised regression estimator. If any of these
        weights is not positive, raking is used instead.
    like : data frame or mapping of str to array-like of shape (n_target,), optional
        Values of the variables of ``X`` in an independent sample of the target
        population, without labels. A cross-fitted logistic regression estimates the
        odds that a row belongs to this sample. The odds are raked to the means of the
        sample, and used as weights. The interval allows for the sampling error of these
        means.
    groups : array-like of shape (n_samples,), optional
        Cluster of each row. By default rows are independent.

    Raises
    ------
    ValueError
        If the test set lacks a level of the target, the sum of proportions is not 1
        except for rounding, a mean is outside the range of the test set, or no positive
        weights satisfy all margins and means.

    Warns
    -----
    SmallSampleWarning
        When the intervals are first accessed, if a variable of more than 5% of the rows
        of `like` is outside of its range in the test set, if a row has more than 5% of
        the weight, or if the weights are worth fewer than 30 rows of equal weight.

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

    _shares: Array | None = None  # shares of the total weight, once calibrated
    _method: str
    _reasons: str
    _base: Array
    _basis: Array

    def __init__(
        self,
        X: Any,
        *,
        margins: Any = None,
        means: Any = None,
        like: Any = None,
        groups: Any = None,
    ) -> None:
        variables = named_columns(_validation.as_pairs(X), "X", "x")
        self.margins = {
            name: _as_dict(shares, f"margins[{name!r}]")
            for name, shares in _as_dict(margins, "margins").items()
        }
        self.means = _as_dict(means, "means")
        self.like = {} if like is None else named_columns(like, "like", "x")
        self.groups = groups
        names = {**self.margins, **self.means}
        if bool(names) == bool(self.like):
            raise ValueError(
                "Calibrated requires either the argument like, or at least one of the "
                "arguments margins and means"
            )
        for name in names or self.like:
            check_choice(name, [*variables], "each variable of margins, means and like")
            if hasattr(self, name):
                raise ValueError(
                    f"X must not have a variable named {name!r}; rename the variable"
                )
            setattr(self, name, variables[name])
        self._variables = tuple(names or self.like)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the variables, and "groups" if clusters were passed."""
        return self._variables if self.groups is None else (*self._variables, "groups")

    @property
    def n_units(self) -> int:
        """Number of clusters or, without `groups`, number of rows."""
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
        design, n = copy(self), self._n_rows
        columns, means = (self._of_target if self.like else self._of_margins)()
        reasons = calibration.reasons_of_overlap(columns, means, n)
        values = np.stack([*columns.values()], axis=1)
        basis = np.insert(scale(values - means, with_mean=False), 0, 1, axis=1)
        if self.like:
            weights = weights * _odds(columns, n)
        design._basis, design._base, design._method = basis, weights, "regression"
        weights = calibration.regression_weights(weights, basis[:n])
        if self.margins or self.like or weights.min() <= 0:
            design._method = "raking"
            weights = calibration.raked_weights(design._base, basis[:n, 1:])
        design._shares = weights / weights.sum()
        reasons += calibration.reasons_of_weights(design._shares)
        design._reasons = "; ".join(reasons)
        return design, weights

    def _of_margins(self) -> tuple[dict[str, Array], Array]:
        """Return the calibration variables, and their means in the population.

        The variables have a value for each row of the test set.
        """
        columns: dict[str, Array] = {}
        means: list[float] = []
        for name, shares in self.margins.items():
            values, total = np.asarray(getattr(self, name)), sum(shares.values())
            if unknown := {*values.tolist()} - shares.keys():
                raise ValueError(
                    f"margins[{name!r}] must have values for all levels of X, got none "
                    "for "
                    f"{join_names(sorted(map(repr, unknown)))}"
                )
            are_shares = all(0 < share < 1 for share in shares.values())
            if are_shares and abs(total - 1) > _ROUNDING:
                raise ValueError(
                    f"margins[{name!r}] must be counts, or proportions with the sum 1, "
                    f"got proportions with the sum {total:.3g}"
                )
            columns |= _indicators(name, values, shares)
            means += [share / total for share in shares.values()]
        for name in self.means:
            columns[name] = _validation.as_numbers(getattr(self, name), f"X[{name!r}]")
        return columns, np.array([*means, *self.means.values()])

    def _of_target(self) -> tuple[dict[str, Array], Array]:
        """Return the calibration variables, and their means in the target sample.

        Each variable has a value for each row of the test set, followed by a value for
        each row of the target sample.
        """
        columns: dict[str, Array] = {}
        for name, values in self.like.items():
            both = np.concatenate([getattr(self, name), values])
            if both.dtype.kind in "biuf":
                columns[name] = both.astype(float)
                continue
            texts = both.astype(str)
            columns |= _indicators(name, texts, np.unique(texts).tolist())
        return columns, np.array([x[self._n_rows :].mean() for x in columns.values()])

    def components(self, influences: Any) -> Iterator[Component]:
        """Sum the influence values of the rows by cluster.

        Parameters
        ----------
        influences : array-like of shape (n_samples, K)
            Weighted influence values of the rows, for K estimates.

        Yields
        ------
        Component
            Totals of clusters, or the rows.
        """
        units = np.arange(len(influences)) if self.groups is None else self.groups
        component = Component.of_units(np.asarray(influences), units)
        yield replace(component, blocks=np.zeros(len(component.totals), dtype=int))

    def variance_components(self, influences: Any) -> Iterator[Component]:
        """Yield variance components, computed from residuals of the calibration.

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
        assert self._shares is not None
        shares, root = self._shares[:, np.newaxis], np.sqrt(self._base)[:, np.newaxis]
        values = np.asarray(influences) / shares
        basis, target = np.split(self._basis, [self._n_rows])
        slopes = np.linalg.lstsq(root * basis, root * values, rcond=None)[0]
        yield from self.components(shares * (values - basis @ slopes))
        if self.like:
            fitted = target @ slopes
            yield Component((fitted - fitted.mean(axis=0)) / len(fitted))

    def small_sample_reason(self, influences: Any) -> str:
        """Return a reason to warn about the weights, such as a few dominant rows.

        Parameters
        ----------
        influences : array-like of shape (n_samples, K)
            Influence values, which are not used: only the weights are checked.

        Returns
        -------
        str
            The reason, or an empty string.
        """
        return self._reasons

    def __str__(self) -> str:
        if self._shares is None:
            return repr(self)
        units = "" if self.groups is None else f"in {self.n_units} groups "
        how = "like a sample of the target" if self.like else "calibrated"
        largest = self._shares.max() * self._n_rows
        about = f"weights by {self._method}, the largest {largest:.3g} times the mean"
        return f"{units}{how} by {join_names(self._variables)} ({about})"

    def __repr__(self) -> str:
        return f"Calibrated({', '.join(self._variables)})"


def _indicators(name: str, values: Array, levels: Iterable[Any]) -> dict[str, Array]:
    """Return an indicator of each level of a variable."""
    return {f"{name} = {level!r}": values == level for level in levels}


def _odds(columns: dict[str, Array], n_rows: int) -> Array:
    """Estimate the odds that rows of the test set belong to the target sample.

    A logistic regression predicts the odds out of fold. `columns` contains the rows of
    the test set, followed by the rows of the target sample.
    """
    variables = [x if x.dtype == bool else scale(x) for x in columns.values()]
    is_target = np.arange(len(variables[0])) >= n_rows
    folds = StratifiedKFold(shuffle=True, random_state=0)
    options: Any = {"cv": folds, "method": "decision_function"}
    model, X = LogisticRegression(), np.transpose(variables)
    return np.exp(cross_val_predict(model, X, is_target, **options)[:n_rows])


def _as_dict(values: Any, parameter: str) -> dict[Any, Any]:
    """Convert a mapping or a pandas Series to a dict.

    The result is empty for None.
    """
    if values is None:
        return {}
    if not hasattr(values, "items"):
        raise TypeError(
            f"{parameter} must be a mapping or a Series, got {short_repr(values)}"
        )
    return dict(values.items())
