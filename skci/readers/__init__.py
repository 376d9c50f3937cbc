"""Readers of file formats, which return arguments of :func:`skci.joint_report`.

:func:`trec` reads relevance judgements and runs of search, :func:`coco` objects and
detections, and :func:`transcripts` references and hypotheses of speech. Each accepts
paths, which may end in ``.gz``, or open files, of one model or of several models by
name.
"""

from skci.readers.detection import coco
from skci.readers.search import trec
from skci.readers.speech import transcripts

__all__ = ["coco", "transcripts", "trec"]


def __dir__() -> list[str]:
    return __all__
