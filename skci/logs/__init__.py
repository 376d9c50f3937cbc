"""Logs of evaluations of language models, as rows of grades.

:func:`read` reads the files of inspect_ai, lm-evaluation-harness, promptfoo, DeepEval
and SWE-bench, and plain tables, and returns :class:`LogRows`. A :class:`LogFormat` adds
another format.
"""

from skci.logs.files import Grade, LogFile, LogFormat, Sample, Statement
from skci.logs.reading import read
from skci.logs.rows import LogRows

__all__ = ["Grade", "LogFile", "LogFormat", "LogRows", "Sample", "Statement", "read"]


def __dir__() -> list[str]:
    return __all__
