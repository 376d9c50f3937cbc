"""Calibration of probabilities, as functionals of weights on rows.

References
----------
Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika
45, 562-565.

Kumar, A., Liang, P. S. and Ma, T. (2019). Verified uncertainty calibration. Advances in
Neural Information Processing Systems 32.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from skci._arrays import EPS, Array, cached_property, dot
from skci.measures.functional import Evaluation, Functional

_MOST_STEPS = 100  # of Newton's method, which takes about six
_SMALL_STEP = 1e-3  # that is taken whether or not it raises the likelihood


STRATEGIES = ("quantile", "uniform")
"""Whether bins have about the same number of rows, or the same width."""

MOST_BINS = 1000


def bin_numbers(
    probabilities: Array, n_bins: int, strategy: str, repeats: Array
) -> Array:
    """Number the bins of repeated probabilities from 0 on; empty ones are left out."""
    edges = np.linspace(0, 1, n_bins + 1)
    if strategy == "quantile":
        edges = _quantiles(probabilities, repeats, edges)
    number = np.searchsorted(edges[1:-1], probabilities)
    return np.unique(number, return_inverse=True)[1]


def _quantiles(values: Array, repeats: Array, levels: Array) -> Array:
    """Quantiles of repeated values, those of numpy of the values written out."""
    order = np.argsort(values, kind="stable")
    last = np.cumsum(repeats[order])
    places = levels * (last[-1] - 1)
    below, above = np.floor(places), np.ceil(places)
    low, high = (
        values[order][np.searchsorted(last, each, side="right")]
        for each in (below, above)
    )
    return low + (places - below) * (high - low)


@dataclass(frozen=True, eq=False)
class CalibrationCoefficient(Functional):
    r"""Intercept or slope of the logistic regression of the label on the logit.

    The probability is :math:`\mu = 1 / (1 + \exp(-a - b x))`, x the logit of the
    prediction. The intercept solves :math:`E[y - \mu] = 0` for a at :math:`b = 1`; the
    slope solves :math:`E[(1, x) (y - \mu)] = 0` for b, with a. The influence values are
    those of the sandwich estimator, an entry of :math:`E[\mu (1 - \mu) z z^T]^{-1} z (y
    - \mu)`, z being 1 or :math:`(1, x)`.
    """

    logits: Array
    """Logits of the predictions of the rows, (m,)."""
    positive: Array
    """Whether rows are positive, (m,)."""
    fits_slope: bool

    @cached_property
    def columns(self) -> Array:
        """Regressors of the rows, that of the coefficient last; shape (m, 1 or 2)."""
        ones = np.ones_like(self.logits)
        return np.stack([ones, self.logits][: 1 + self.fits_slope], axis=1)

    @property
    def _offset(self) -> Array | float:
        return 0.0 if self.fits_slope else self.logits

    def __call__(self, p: Array) -> Evaluation:
        coefficients = self._fit(p)
        value = np.asarray(coefficients[-1])
        if np.isnan(value):
            return Evaluation(value, np.full(len(p), np.nan), np.array([np.inf]))
        mean = self._means(coefficients)
        unit = np.eye(len(coefficients))[-1]
        information = self._information(p, mean)
        direction = np.linalg.lstsq(information, unit, rcond=EPS)[0]
        influence = (self.positive - mean) * (self.columns @ direction)
        return Evaluation(value, influence - dot(p, influence), np.ones(1))

    def _means(self, coefficients: Array) -> Array:
        return expit(self._offset + self.columns @ coefficients)

    def _information(self, p: Array, mean: Array) -> Array:
        weights = p * mean * (1 - mean)
        return self.columns.T @ (weights[:, np.newaxis] * self.columns)

    def _fit(self, p: Array) -> Array:
        """Coefficients of greatest likelihood; NaN where there are none."""
        coefficients = np.zeros(self.columns.shape[1])
        if not self._exists(p):
            return coefficients * np.nan
        for _ in range(_MOST_STEPS):
            mean = self._means(coefficients)
            slopes = self.columns.T @ (p * (self.positive - mean))
            step = np.linalg.lstsq(self._information(p, mean), slopes, rcond=EPS)[0]
            likelihood = self._likelihood(p, coefficients)
            # Of a small step the change of the likelihood is below its rounding.
            while np.abs(step).max() > _SMALL_STEP:
                if self._likelihood(p, coefficients + step) > likelihood:
                    break
                step /= 2
            coefficients = coefficients + step
            if np.abs(step).max() <= 4 * EPS * max(np.abs(coefficients).max(), 1):
                break
        return coefficients

    def _likelihood(self, p: Array, coefficients: Array) -> float:
        """Log likelihood, in which terms of the labels alone are left out."""
        logits = self._offset + self.columns @ coefficients
        signed = np.where(self.positive, -logits, logits)
        return -float(dot(p, np.logaddexp(0, signed)))

    def _exists(self, p: Array) -> bool:
        """Whether both labels occur and, for a slope, the predictions overlap."""
        occurs, positive = p > 0, self.positive
        logits = [self.logits[occurs & of] for of in (~positive, positive)]
        if not all(len(each) and np.isfinite(each).all() for each in logits):
            return False
        if not self.fits_slope:
            return True
        (lowest, low), (high, highest) = ((x.min(), x.max()) for x in logits)
        return bool(high < low and lowest < highest)


@dataclass(frozen=True, eq=False)
class SquaredCalibrationError(Functional):
    r"""Squared calibration error in bins of predictions, without its bias.

    .. math:: \sum_b W_b \Bigl(c_b^2 - \frac{n_b}{n_b - 1}
        \frac{\sum_{i \in b} p_i^2 (r_i - c_b)^2}{W_b^2}\Bigr)

    over bins b of weight :math:`W_b` and :math:`n_b` rows, whose differences r of label
    and prediction have the mean :math:`c_b`. The second term estimates the variance of
    this mean; without weights the whole is that of Kumar, Liang and Ma (2019), but for
    predictions that differ within a bin. A bin of one row counts as 0.
    """

    residuals: Array
    """Label less prediction of the rows, (m,)."""
    bins: Array
    """Number of the bin of each row, from 0 on, (m,)."""
    repeats: Array
    """How often each row occurs, (m,)."""

    def __call__(self, p: Array) -> Evaluation:
        value, weights, means, factors, squares = self._parts(p)
        bins = self.bins
        error = self.residuals - means[bins]
        of_one = p / self.repeats
        tilt = np.bincount(bins, p * of_one * error)
        with np.errstate(all="ignore"):
            inner = 2 * of_one * error**2 - 2 * (tilt / weights)[bins] * error
            noise = (factors / weights)[bins] * (inner - (squares / weights)[bins])
        influence = 2 * means[bins] * self.residuals - means[bins] ** 2 - noise
        influence = np.where(factors[bins] > 0, influence, 0.0) - value
        centred = influence - dot(p, influence)
        return Evaluation(np.asarray(value), centred, np.ones(1))

    def _parts(self, p: Array) -> tuple[float, Array, Array, Array, Array]:
        """Value; weight, mean, n / (n - 1) or 0, and weighted squares of each bin."""
        bins, residuals = self.bins, self.residuals
        weights, n = np.bincount(bins, p), np.bincount(bins, self.repeats * (p > 0))
        with np.errstate(all="ignore"):
            means = np.nan_to_num(np.bincount(bins, p * residuals) / weights)
            factors = np.where(n > 1, n / (n - 1), 0.0)
            errors = (residuals - means[bins]) ** 2
            squares = np.bincount(bins, p**2 / self.repeats * errors)
            terms = weights * means**2 - factors * squares / weights
        value = float(terms[factors > 0].sum() / p.sum())
        return value, weights, means, factors, squares
