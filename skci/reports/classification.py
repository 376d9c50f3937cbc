"""Reports of precision, recall and F1 of each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from skci.inference.joint import JointEstimate
from skci.reports.base import Report
from skci.reports.rendering import Column, format_number

COLUMNS = ["precision", "recall", "f1-score"]


class ClassificationReport(Report):
    """Joint confidence intervals of precision, recall and F1 of each class.

    Indexed by the class (or "accuracy", "macro avg", ...) and the metric, and laid out
    as in scikit-learn. Returned by :func:`skci.classification_report_ci`.

    Examples
    --------
    >>> from skci import classification_report_ci
    >>> y_true, y_pred = [0] * 40 + [1] * 40, [0] * 36 + [1] * 40 + [0] * 4
    >>> report = classification_report_ci(y_true, y_pred, target_names=["no", "yes"])
    >>> report["no", "recall"]
    recall = 0.90 [0.72, 0.97], joint 95% interval (score, n = 80)
    """

    _model_header = "class"

    def __init__(self, joint: JointEstimate, support: dict[str, float]) -> None:
        super().__init__(joint)
        self._support = support

    @property
    def support(self) -> dict[str, float]:
        """Number, or total weight, of the true rows of each class."""
        return dict(self._support)

    def _more_columns(self) -> list[Column]:
        support = [self._support[name] for name in self._labels["class"]]
        return [Column({"support": support})]

    def _drawing(self) -> dict[str, Any]:
        drawing = super()._drawing()
        return drawing | {"metrics": list(map(_column, drawing["metrics"]))}

    def _name_columns(self) -> list[list[str]]:
        return [["", *self._support]]

    def _number_columns(self) -> list[list[str]]:
        cells = {column: dict.fromkeys(self._support, "") for column in COLUMNS}
        for (name, metric), cell in zip(self, self._estimate_cells(), strict=True):
            cells[_column(metric)][name] = cell
        columns = [[column, *cells[column].values()] for column in COLUMNS]
        rows = np.array(list(self._support.values()))
        places = 0 if np.allclose(rows, rows.round(), rtol=0) else 1
        return [*columns, ["support", *(format_number(n, places) for n in rows)]]


def _column(metric: str) -> str:
    """Column of a metric; the accuracy is in the last one."""
    return metric if metric in COLUMNS else "f1-score"
