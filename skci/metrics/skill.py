"""Skill scores: metrics that compare a model with a reference model of the report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skci._arrays import Array
from skci.inference.intervals.methods import AUTO
from skci.inference.parameter import TableParameter
from skci.measures.functional import FunctionOfMeans, skill
from skci.measures.traits import SKILL, MeasureProperties
from skci.metrics.base import MetricCI, option
from skci.metrics.binding import Binding


def check_score(score: Any, name: str = "score") -> Any:
    """Check that a metric of forecasts or numbers is a loss with minimum 0."""
    is_loss = (
        isinstance(score, MetricCI)
        and score.reads in ("items", "numbers")
        and score.bounds[0] == 0
        and not (score.greater_is_better or score._each)
    )
    if not is_loss:
        raise ValueError(
            f"{name} must be a metric object for forecasts or numbers, such as "
            "CrpsCI(), whose minimum is 0 and for which lower values are better, got "
            f"{score!r}"
        )
    return score


class SkillScoreCI(MetricCI, **SKILL, undefined_by="a score of the reference of zero"):
    r"""Skill score: relative reduction of a score compared with a reference model.

    .. math:: 1 - S / S_\mathrm{ref}

    S is the score of the model and :math:`S_\mathrm{ref}` the score of the reference on
    the same rows. The interval allows for the errors of both scores and for their
    correlation. The skill is 0 for a model that is as good as the reference, and 1 for
    a perfect model. The reference is a model of the same report, for which no skill is
    reported. The name of the metric is the name of the score with the suffix "_skill".

    Parameters
    ----------
    score : metric
        Metric object for forecasts or numbers, such as ``CrpsCI()``. The smallest value
        of the metric must be 0, and lower values must be better.
    reference : str
        Name of the model with which all other models are compared.

    Examples
    --------
    >>> import numpy as np
    >>> from skci import CrpsCI, joint_report
    >>> rng = np.random.default_rng(0)
    >>> level = rng.normal(size=200)
    >>> y = rng.normal(level)
    >>> models = {
    ...     "network": rng.normal(level, size=(50, 200)).T,
    ...     "climatology": rng.normal(0, 2**0.5, size=(200, 50)),
    ... }
    >>> skill = SkillScoreCI(CrpsCI(), reference="climatology")
    >>> joint_report(y, models, metrics=skill)["network", "crps_skill"]
    crps_skill = 0.242 [0.164, 0.311], 95% interval (hall, n = 200)
    """

    score: Any = option(kw_only=False, check=check_score)
    reference: str

    @property
    def reads(self) -> str:  # type: ignore[override]
        """Kind of the predictions, such as "numbers"."""
        return str(check_score(self.score).reads)

    @property
    def _measure(self) -> MeasureProperties:  # type: ignore[override]
        return MeasureProperties(
            f"{check_score(self.score).name}_skill", **self._properties
        )

    def _bind(self, binding: Binding) -> list[TableParameter]:
        models = binding.sample.kinds[self.reads]
        if self.reference not in models:
            raise ValueError(
                f"reference must be one of the models of the report, {models}, got "
                f"{self.reference!r}"
            )
        if binding.model == self.reference:
            return []
        losses = [self._losses(binding, m) for m in (binding.model, self.reference)]
        functional = FunctionOfMeans(skill, np.stack(losses, axis=1))
        return [binding.of_units(self._measure, functional)]

    def _losses(self, binding: Binding, model: str) -> Array:
        """Return a loss for each row. The mean loss is the score of the model.

        If the score is not a mean over rows, the losses are a first-order
        approximation.
        """
        scored = replace(binding, model=model, method=AUTO)
        (parameter,) = self.score._bind(scored)
        counts, cells = parameter.counts, parameter.index[binding.within]
        estimate, influence, _ = parameter.functional(counts / counts.sum())
        losses: Array = (estimate + influence)[cells]
        return losses
