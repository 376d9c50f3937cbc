"""Files that a field has, as the arguments of :func:`skci.joint_report`.

:func:`trec` reads judgements and runs of search. Each reader takes paths, which may end
in ``.gz``, or open files, of a model or several by name.
"""

from skci.readers.search import trec

__all__ = ["trec"]


def __dir__() -> list[str]:
    return __all__
