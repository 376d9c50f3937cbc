"""Joint reports of data that come in batches."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import Any, Self

from skci._arrays import allow_underflow
from skci._options import entry_point
from skci._validation import AllZeroError, check_alone, printable
from skci.data.drawing import RowOptions
from skci.data.labels import check_labels, label_or_1
from skci.data.moments import MomentSample
from skci.data.sample import Sample
from skci.data.storage import SampleSum, read_sample, write_sample
from skci.evaluation import joint_report
from skci.inference.critical.horizon import Horizon
from skci.metrics.metric_set import MetricSet, named_metrics
from skci.metrics.partial_truth import estimate, read_partly_labelled
from skci.metrics.summaries import Summary
from skci.reports.joint import JointReport


@entry_point(joint_report)
class JointAccumulator:
    """Accumulate batches of predictions for a joint report on all of their rows.

    The report equals that of :func:`joint_report` on all rows at once, whatever the
    batches and their order. Metrics of labels need only the distinct outcomes and
    their counts, so that memory does not grow with the rows. For metrics of scores and
    numbers the rows are kept, unless scores are counted in bins, or moments are kept.

    Parameters
    ----------
    labels : array-like, optional
        All labels, if a batch may lack some of them. Scores of more than two labels
        have a column for each. Averages are over all of them: intervals are extended,
        with a warning, for labels that no batch has.
    score_bins : int or array-like of edges, optional
        Count the scores of two labels in bins: so many of equal width from 0 to 1, or
        between these edges, ascending, and one on either side. Outcomes are then
        distinct bins, with their counts and the least and greatest score of each. An
        estimate differs from that of the scores themselves by at most its
        ``binning_error``, by which its interval is extended: 0 where all scores of a
        bin are equal. For areas under curves and losses of probabilities.
    moments : bool, default=False
        Keep moments in place of rows: sums of products of losses, from which
        estimates, covariances and differences follow exactly, in memory that grows
        neither with rows nor, without groups, at all. For log losses, Brier scores,
        metrics of numbers that are functions of means, and those of features of items;
        not with `by`. The default method is "delta", since skewness and heavy tails
        are not known.

    Attributes
    ----------
    n_samples : int
        Number of rows so far, without those of weight zero.

    Raises
    ------
    ValueError, TypeError
        If an option is not as described.

    See Also
    --------
    joint_report : The same for data that are at hand at once.

    Examples
    --------
    >>> from skci import JointAccumulator
    >>> first = JointAccumulator(["accuracy", "f1"])
    >>> for _ in range(10):
    ...     first.update([0, 1, 1, 0], {"A": [0, 1, 1, 1], "B": [0, 0, 1, 0]})
    >>> second = JointAccumulator(["accuracy", "f1"])
    >>> second.update([1, 1, 1], {"A": [1, 1, 0], "B": [1, 1, 1]})
    >>> both = first + second
    >>> both.n_samples
    43
    >>> both.report()["A", "accuracy"]
    accuracy = 0.74 [0.56, 0.87], joint 95% interval (score, n = 43)

    Scores of any number of rows, in the memory of their bins:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> accumulator = JointAccumulator("roc_auc", score_bins=100_000)
    >>> for _ in range(10):
    ...     y = rng.random(5_000) < 0.2
    ...     accumulator.update(y, y_score={"A": rng.beta(2 + y, 3, 5_000)})
    >>> area = accumulator.report()["A", "roc_auc"]
    >>> print(area, f"{area.binning_error:.0e}")
    0.6479 [0.6422, 0.6536] 6e-06

    Losses of any number of rows, in a few numbers:

    >>> accumulator = JointAccumulator(["log_loss", "brier_score"], moments=True)
    >>> for _ in range(10):
    ...     y = rng.random(5_000) < 0.2
    ...     accumulator.update(y, y_score={"A": rng.beta(2 + y, 5)})
    >>> print(accumulator.report()["A", "brier_score"])
    0.1693 [0.1676, 0.1709]
    """

    def __init__(
        self,
        metrics: Any,
        *,
        labels: Any = None,
        pos_label: Any = None,
        abstain: Any = None,
        confidence_level: float = 0.95,
        method: str | Mapping[str, str] | None = None,
        random_state: Any = None,
        score_bins: Any = None,
        moments: bool = False,
    ) -> None:
        options = confidence_level, method, pos_label, random_state
        self._metric_set = MetricSet(metrics, *options)
        self._summary = Summary(self._metric_set, score_bins, moments)
        self._labels = [] if labels is None else check_labels(labels)
        self._abstain, self._method = abstain, method
        self._rows = SampleSum(several=self._metric_set.several)

    @property
    def n_samples(self) -> int:
        """Number of rows so far."""
        return self._rows.n_samples

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return [*self._metric_set.metrics]

    @property
    def models(self) -> list[str]:
        """Names of the models; none before the first batch."""
        return self._rows.parts[0].models if self._rows.parts else []

    @entry_point(joint_report)
    def update(
        self,
        y_true: Any,
        y_pred: Any = None,
        *,
        y_score: Any = None,
        proxy: Any = None,
        data: Any = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        query: Any = None,
        by: Any = None,
        missing: str = "error",
    ) -> None:
        """Add a batch of rows.

        A group may continue in other batches, by the same name; the rows of a query are
        all in one. Weights are on the same scale in all batches. A batch
        whose weights or counts are all zero adds nothing. With `proxy` all batches have
        the same proxies, and one may lack labels altogether; of metrics of labels
        memory does not grow with the rows then either.

        Raises
        ------
        ValueError, TypeError
            If the data are not as described, or do not fit those before. Nothing is
            added then.
        """
        rows = RowOptions(
            sample_weight=sample_weight,
            counts=counts,
            groups=groups,
            query=query,
            by=by,
            missing=missing,
        )
        columns = {"y_true": y_true, "y_pred": y_pred, "y_score": y_score}
        labels = {"abstain": self._abstain, "labels": self._labels}
        with suppress(AllZeroError):
            if proxy is None:
                sample = self._metric_set.read(
                    **columns, rows=rows, data=data, **labels
                )
            else:
                columns["proxy"] = proxy
                sample = read_partly_labelled(
                    self._metric_set, columns, rows, data, **labels
                )
            self._rows.add(self._summary(sample))

    @allow_underflow
    def merge(self, other: JointAccumulator) -> None:
        """Add the rows of another accumulator, of the same models.

        Parameters
        ----------
        other : JointAccumulator
            It is left as it is. Its metrics and options may be others, except for
            `pos_label`.

        Raises
        ------
        ValueError, TypeError
            If it is no accumulator, or of other models, labels, kinds of data or
            another positive label.
        """
        if not isinstance(other, JointAccumulator):
            raise TypeError(
                f"other must be a JointAccumulator, got {type(other).__name__}"
            )
        positive = [label_or_1(each._metric_set.pos_label) for each in (self, other)]
        if positive[0] != positive[1]:
            raise ValueError(
                "other must have the pos_label of this accumulator, "
                f"{positive[0]!r}, got {positive[1]!r}"
            )
        if other._rows.parts:
            self._rows.add(other._sample())

    def __add__(self, other: JointAccumulator) -> Self:
        if not isinstance(other, JointAccumulator):
            return NotImplemented
        total = copy(self)
        total._rows = replace(self._rows, parts=list(self._rows.parts))
        total.merge(other)
        return total

    def _sample(self) -> Sample:
        """Sample of all rows."""
        if not self._rows.parts:
            raise ValueError("update must be called with rows of positive weight first")
        return self._rows.total()

    @allow_underflow
    def report(self, horizon: Any = None) -> JointReport:
        r"""Report the metrics on all rows so far.

        Parameters
        ----------
        horizon : tuple of (int, int), or list or range of int, optional
            For sequential monitoring: intervals, differences and findings that hold at
            all looks at the data at once, for any looks from the first number of rows
            to the second, or for planned looks, as of a list or a range, which cost
            less. With groups these are numbers of groups.

        Returns
        -------
        JointReport
            That of the same rows in one piece.

        Raises
        ------
        ValueError
            If there were no rows, `horizon` is not as described, or the rows so far are
            not within it.

        Notes
        -----
        Standardised estimates at n and m rows have the correlation
        :math:`\sqrt{n / m}`. With the correlation of the parameters, this gives the
        distribution of the maximum over parameters and looks, whose quantile is the
        critical value. It costs 30 to 60 percent of the width for any looks, and less
        for planned ones.

        Examples
        --------
        >>> from skci import JointAccumulator
        >>> accumulator = JointAccumulator("accuracy")
        >>> accumulator.update([0, 1] * 200, [0, 1, 0, 0] * 100)
        >>> accumulator.report()["y_pred", "accuracy"]
        accuracy = 0.750 [0.705, 0.790], 95% interval (score, n = 400)
        >>> report = accumulator.report(horizon=(200, 20_000))
        >>> report["y_pred", "accuracy"]
        accuracy = 0.750 [0.678, 0.810], 95% interval (score, n = 400)

        A look after every 200 rows:

        >>> report = accumulator.report(horizon=range(200, 2001, 200))
        >>> report["y_pred", "accuracy"]
        accuracy = 0.750 [0.691, 0.801], 95% interval (score, n = 400)
        """
        sample = self._sample()
        if sample.proxies is not None:
            of_proxy = "a proxy, as the share of labels may change from look to look"
            check_alone(of_proxy, {"horizon": horizon})
            return JointReport(estimate(self._metric_set, sample))
        if horizon is not None:
            horizon = Horizon.checked(horizon)
            horizon.check_look(sample.design.n_units)
        return self._metric_set.report(sample, horizon)

    def save(self, path: Any) -> None:
        """Save what was accumulated, for another process or another site.

        Of metrics of labels these are outcomes and their counts, and the names of
        groups and subgroups: no rows. Nor are there any in moments and bins. Scores and
        numbers that are kept without these are saved row by row, and items are not.
        Options are saved, the metrics are not.

        Parameters
        ----------
        path : str or path
            File to write, ``.npz`` or ``.json``.

        Raises
        ------
        ValueError, TypeError
            If the name of the file has another ending, there is nothing to save,
            groups have names that are neither strings nor numbers, or items are kept.
        """
        options = {
            "labels": self._labels or None,
            "pos_label": self._metric_set.pos_label,
            "abstain": self._abstain,
            "confidence_level": self._metric_set.confidence_level,
            "method": self._method,
            "random_state": self._metric_set.seed,
        }
        write_sample(self._sample(), options, path)

    @classmethod
    def load(cls, path: Any, metrics: Any, **options: Any) -> Self:
        """Load what :meth:`save` saved.

        Parameters
        ----------
        path : str or path
            Name of the file.
        metrics : str, metric object, list of them, or mapping of str to them
            Metrics of what was saved, the same or others.
        **options
            Options of :class:`JointAccumulator` in place of those that were saved.

        Returns
        -------
        JointAccumulator
            To be reported on, updated or merged.

        Raises
        ------
        ValueError
            If the file is not one that was saved, or not of what the metrics read, or
            `pos_label` is not the label that saved scores are of.
        """
        sample, saved = read_sample(path)
        if isinstance(saved["method"], Mapping):
            known = {*named_metrics(metrics), "*"}
            saved["method"] = {k: m for k, m in saved["method"].items() if k in known}
        saved["score_bins"] = sample.score_edges
        saved["moments"] = isinstance(sample, MomentSample)
        seed = saved.pop("random_state")
        accumulator = cls(metrics, **saved | options)
        if "random_state" not in options:
            accumulator._metric_set.seed = seed
        positive = accumulator._metric_set.pos_label
        if "scores" in sample.kinds and positive != saved["pos_label"]:
            raise ValueError(
                "pos_label must be the label that the saved scores are of, "
                f"{saved['pos_label']!r}, got {positive!r}"
            )
        missing = accumulator._metric_set.reads - set(sample.kinds)
        if missing:
            raise ValueError(
                f"metrics must be of {', '.join(sample.kinds)}, which was saved, got "
                f"metrics of {', '.join(sorted(missing))}"
            )
        accumulator._rows.add(accumulator._summary(sample))
        return accumulator

    def __repr__(self) -> str:
        names = ", ".join(self._metric_set.metrics)
        models = ", ".join(self.models)
        of = f"; models: {models}" if models else ""
        return printable(
            f"JointAccumulator(metrics: {names}{of}; n = {self.n_samples})"
        )
