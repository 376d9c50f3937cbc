"""Readers of file formats, which return arguments of :func:`skci.joint_report`.

:func:`trec` reads relevance judgements and runs of search systems. :func:`coco` reads
objects and detections, and :func:`transcripts` reads references and hypotheses of
speech recognition. Each function accepts open files, or paths, which may end in
``.gz``. The files of several models are passed as a mapping of model names to files.
"""

from skci.readers.detection import coco
from skci.readers.search import trec
from skci.readers.speech import transcripts

__all__ = ["coco", "transcripts", "trec"]


def __dir__() -> list[str]:
    return __all__
