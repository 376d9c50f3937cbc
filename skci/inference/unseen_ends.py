"""What score intervals of bounded means pay for ends of the range without a row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skci.inference.joint import JointEstimate
from skci.inference.parameter import TableParameter
from skci.inference.row_estimates import RowEstimates


def widening_by_unseen_ends(joint: JointEstimate) -> float:
    """How many times as wide as those by "hall" are intervals that allow for such ends.

    The largest ratio of widths at the same critical value; 1 if there is none.
    """
    lacking = {
        k: parameter.with_method("hall")
        for k, parameter in enumerate(joint.parameters)
        if isinstance(parameter, TableParameter) and parameter.allows_for_unseen_ends
    }
    if not (lacking and isinstance(joint.sampling, RowEstimates)):
        return 1.0
    sampling = joint.sampling.with_parameters([*lacking.values()])
    hall = replace(joint, sampling=sampling)
    usable = np.flatnonzero(hall.usable)
    q = float(joint.normal_quantile)
    narrow = np.ptp(hall.limits_at_normal_quantile(usable, q, joint.z), axis=1)
    wide = np.ptp(joint.intervals[[*lacking]][usable], axis=1)
    return float(np.max(wide / narrow, initial=1.0))
