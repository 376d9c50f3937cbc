"""Logs of evaluations of language models, as rows of grades.

:func:`read` takes the files that inspect_ai, lm-evaluation-harness, promptfoo, DeepEval
and SWE-bench write, and plain tables, and returns :class:`LogRows`.
"""

from skci.logs.reading import read
from skci.logs.rows import LogRows

__all__ = ["LogRows", "read"]


def __dir__() -> list[str]:
    return __all__
