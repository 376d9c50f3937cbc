"""Joint reports on data that arrive in batches."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import Any, Self, TypedDict, Unpack

from skci._arrays import allow_underflow
from skci._options import entry_point
from skci._validation import AllZeroError, check_mutually_exclusive, printable
from skci.data.labels import check_labels, label_or_1
from skci.data.moments import MomentSample
from skci.data.row_options import RowOptions
from skci.data.sample import Sample
from skci.data.storage import SampleSum, read_sample, write_sample
from skci.evaluation import joint_report
from skci.inference.critical.horizon import Horizon
from skci.metrics.metric_set import MetricSet, named_metrics
from skci.metrics.partial_truth import estimate, read_partly_labelled
from skci.metrics.summaries import Summary
from skci.reports.joint import JointReport


class AccumulatedRows(TypedDict, total=False):
    """Options that describe the rows of one batch."""

    sample_weight: Any
    counts: Any
    groups: Any
    query: Any
    by: Any
    missing: str


@entry_point(joint_report)
class JointAccumulator:
    """Accumulate batches of predictions for a joint report on all of their rows.

    The report does not depend on the batches or their order: it equals the report of
    :func:`joint_report` on all rows at once. For label metrics, only counts of distinct
    outcomes are kept, so memory does not grow with the number of rows. For metrics of
    scores and numbers, all rows are kept, unless `score_bins` or `moments` are used.

    Parameters
    ----------
    labels : array-like, optional
        All possible labels. Pass them if a batch may lack some labels. Scores for more
        than two labels have one column per label. Averages over classes include all
        labels. If a label occurs in no batch, intervals of averages are extended, with
        a warning.
    score_bins : int or array-like of edges, optional
        Number of equal-width bins on [0, 1], or increasing bin edges, for scores of two
        labels. Scores are then counted in bins, and the rows are not kept. Scores below
        the first or above the last edge have separate bins. For each bin, only the
        counts, the smallest score and the largest score are kept. Estimates differ from
        the exact estimates by at most ``binning_error``, and intervals are widened by
        this error. The error is 0 if all scores in a bin are equal. Bins support areas
        under curves and losses of probabilities.
    moments : bool, default=False
        Whether to keep moments instead of rows. Moments are sums of products of losses,
        from which estimates, covariances and differences follow exactly. Memory grows
        with the number of groups, but not with the number of rows. Moments support log
        losses, Brier scores, regression metrics that are functions of means, and
        metrics of item features. Moments cannot be combined with `by`. The default
        method is "delta", because moments do not show skewness or heavy tails.

    Attributes
    ----------
    n_samples : int
        Number of rows so far, excluding rows with weight zero.

    Raises
    ------
    ValueError, TypeError
        If an option is not as described.

    See Also
    --------
    joint_report : Report on data that are available at once.

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

    Count scores in bins, in memory that does not grow with the number of rows:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> accumulator = JointAccumulator("roc_auc", score_bins=100_000)
    >>> for _ in range(10):
    ...     y = rng.random(5_000) < 0.2
    ...     accumulator.update(y, y_score={"A": rng.beta(2 + y, 3, 5_000)})
    >>> area = accumulator.report()["A", "roc_auc"]
    >>> print(area, f"{area.binning_error:.0e}")
    0.6479 [0.6422, 0.6536] 6e-06

    Keep moments of losses, in memory that does not grow with the number of rows:

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
        """Number of rows in all batches so far."""
        return self._rows.n_samples

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return [*self._metric_set.metrics]

    @property
    def models(self) -> list[str]:
        """Names of the models, or an empty list before the first batch."""
        return self._rows.parts[0].models if self._rows.parts else []

    @entry_point(joint_report, AccumulatedRows)
    def update(
        self,
        y_true: Any,
        y_pred: Any = None,
        *,
        y_score: Any = None,
        proxy: Any = None,
        data: Any = None,
        **rows: Unpack[AccumulatedRows],
    ) -> None:
        """Add a batch of rows.

        The rows of a group may be in several batches, if all batches use the same name
        for this group. All rows of a query must be in one batch. Weights must be on the
        same scale in all batches. A batch adds nothing if its weights or counts are all
        zero. With `proxy`, all batches must have the same proxies, but a batch may have
        no labelled row.

        Raises
        ------
        ValueError, TypeError
            If the data are not as described, or do not match earlier batches. The batch
            is then not added.
        """
        row_options = RowOptions(**rows)
        columns = {"y_true": y_true, "y_pred": y_pred, "y_score": y_score}
        labels = {"abstain": self._abstain, "labels": self._labels}
        with suppress(AllZeroError):
            if proxy is None:
                sample = self._metric_set.read(
                    **columns, rows=row_options, data=data, **labels
                )
            else:
                columns["proxy"] = proxy
                sample = read_partly_labelled(
                    self._metric_set, columns, row_options, data, **labels
                )
            self._rows.add(self._summary(sample))

    @allow_underflow
    def merge(self, other: JointAccumulator) -> None:
        """Add the rows of another accumulator with the same models.

        Parameters
        ----------
        other : JointAccumulator
            Accumulator with the rows to add. This accumulator is not modified. The
            metrics and options of the two accumulators may differ, except for
            `pos_label`.

        Raises
        ------
        ValueError, TypeError
            If `other` is not an accumulator, or its models, labels, kinds of data or
            positive label differ.
        """
        if not isinstance(other, JointAccumulator):
            raise TypeError(
                f"other must be a JointAccumulator, got {type(other).__name__}"
            )
        positive = [label_or_1(x._metric_set.pos_label) for x in (self, other)]
        if positive[0] != positive[1]:
            raise ValueError(
                "other must have the same pos_label as this accumulator, "
                f"{positive[0]!r}, got {positive[1]!r}"
            )
        if other._rows.parts:
            self._rows.add(other._sample())

    def __add__(self, other: JointAccumulator) -> Self:
        total = copy(self)
        total._rows = replace(self._rows, parts=list(self._rows.parts))
        total.merge(other)
        return total

    def _sample(self) -> Sample:
        if not self._rows.parts:
            raise ValueError(
                "the accumulator must contain rows of positive weight; "
                "call update first"
            )
        return self._rows.total()

    @allow_underflow
    def report(self, horizon: Any = None) -> JointReport:
        r"""Report the metrics on all rows so far.

        Parameters
        ----------
        horizon : tuple of (int, int), or list or range of int, optional
            Numbers of rows at which the data are analysed (looks), for sequential
            monitoring. Intervals, differences and findings are then simultaneously
            valid at all looks. A pair (smallest, largest) allows looks at any number of
            rows in this range. A list or range of at most 20 numbers gives narrower
            intervals. With groups, the numbers refer to groups.

        Returns
        -------
        JointReport
            The report on all rows, as if all rows were passed at once.

        Raises
        ------
        ValueError
            If there are no rows, `horizon` is not as described, or it does not contain
            the current number of rows.

        Notes
        -----
        The critical value is a quantile of the maximum of the standardised estimates
        over all parameters and looks. The distribution of this maximum follows from the
        correlations of the parameters, and from the correlation :math:`\sqrt{n / m}`
        of standardised estimates at n and m rows.
        Intervals for arbitrary looks are 30 to 60 percent wider than for a single look;
        planned looks widen intervals less.

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
            reason = "a proxy, as the share of labelled rows may differ between looks"
            check_mutually_exclusive(reason, {"horizon": horizon})
            return JointReport(estimate(self._metric_set, sample))
        if horizon is not None:
            horizon = Horizon.checked(horizon)
            horizon.check_look(sample.design.n_units)
        return self._metric_set.report(sample, horizon)

    def save(self, path: Any) -> None:
        """Save the accumulated data to a file, for another process or another site.

        For label metrics, the file contains counts instead of rows. With `moments` or
        `score_bins`, it contains sums or counts. Other scores and numbers are saved row
        by row. The file also contains the options and the names of groups and
        subgroups, but not the metrics. Texts and other objects cannot be saved.

        Parameters
        ----------
        path : str or path
            Name of the file, with the suffix ``.npz`` or ``.json``.

        Raises
        ------
        ValueError, TypeError
            If the name of the file has another suffix, there are no rows, names of
            groups are neither strings nor numbers, or items are kept.
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
        """Load a file that :meth:`save` wrote.

        Parameters
        ----------
        path : str or path
            Name of the file.
        metrics : str, metric object, list of them, or mapping of str to them
            Metrics to report. These metrics may differ from the metrics of the saved
            accumulator if the file contains the required data.
        **options
            Options of :class:`JointAccumulator` that replace the saved options.

        Returns
        -------
        JointAccumulator
            Accumulator with the saved rows, which can be updated, merged or reported.

        Raises
        ------
        ValueError
            If `path` is not a saved file, the file lacks data that the metrics read, or
            `pos_label` is not the label to which the saved scores refer.
        """
        sample, saved = read_sample(path)
        if isinstance(saved["method"], Mapping):
            names = {*named_metrics(metrics), "*"}
            saved["method"] = {k: m for k, m in saved["method"].items() if k in names}
        saved["score_bins"] = sample.score_edges
        saved["moments"] = isinstance(sample, MomentSample)
        seed = saved.pop("random_state")
        accumulator = cls(metrics, **saved | options)
        if "random_state" not in options:
            accumulator._metric_set.seed = seed
        positive = accumulator._metric_set.pos_label
        if "scores" in sample.kinds and positive != saved["pos_label"]:
            raise ValueError(
                "pos_label must be the label to which the saved scores refer, "
                f"{saved['pos_label']!r}, got {positive!r}"
            )
        missing = accumulator._metric_set.reads - set(sample.kinds)
        if missing:
            raise ValueError(
                f"the metrics must read only {', '.join(sample.kinds)}, because the "
                f"file has no {', '.join(sorted(missing))}"
            )
        accumulator._rows.add(accumulator._summary(sample))
        return accumulator

    def __repr__(self) -> str:
        names = ", ".join(self._metric_set.metrics)
        models = ", ".join(self.models)
        listed_models = f"; models: {models}" if models else ""
        return printable(
            f"JointAccumulator(metrics: {names}{listed_models}; n = {self.n_samples})"
        )
