"""Relevance judgements and runs of search systems, in the formats of TREC."""

from collections.abc import Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import check_distinct, first_names, join_names
from skci.exceptions import warn_caller
from skci.metrics.rankings import NOT_JUDGED
from skci.readers.files import by_model, read_lines

_QRELS = "query", "iteration", "document", "relevance"
_RUN = "query", "Q0", "document", "rank", "score", "tag"
_MAX_NAMES = 6  # maximum number of queries in a message

_Values = Mapping[str, Mapping[str, float]]
"""Relevance, score or position of a document, by query and document."""


def trec(qrels: Any, runs: Any) -> dict[str, Any]:
    r"""Read relevance judgements and runs in the formats of TREC.

    The result contains the arguments of :func:`skci.joint_report`. The estimates of
    ranking metrics then equal ``trec_eval -c``.

    Parameters
    ----------
    qrels : path, open file, or mapping of str to mapping, list or set
        Relevance judgements. A file has lines of four columns: query, iteration,
        document and relevance. A mapping contains relevances by query and document, as
        in pytrec_eval, or the list or set of relevant documents of each query.
    runs : path, open file, or list or mapping of these
        Runs of one or more search systems. A file has lines of six columns: query, Q0,
        document, rank, score and tag. To name the runs, pass a mapping of names to
        files. Instead of a file, the mapping may contain a mapping from queries to
        scores by document, or to lists of documents, best first. By default, the runs
        are named after their files.

    Returns
    -------
    dict
        ``y_true`` contains the relevance of each document, or -1 if the document was
        not judged. ``y_score`` contains minus the position of the document in each run,
        or NaN if the document was not retrieved. ``query`` contains the queries. Each
        row is a document that was judged or retrieved for a query of `qrels`. A query
        without documents has one row, with the relevance -1 and the score NaN.

    Raises
    ------
    ValueError, TypeError
        If a line does not have the required columns, or if a document occurs twice for
        a query. The message names the file and the line, or the query.

    Warns
    -----
    UserWarning
        If a run has no documents for a judged query. The value of this query is then 0.

    See Also
    --------
    skci.MeanAveragePrecisionCI, skci.NDCGCI, skci.BprefCI : Metrics of rankings.

    Notes
    -----
    The rank in a run is ignored, as in trec_eval. Documents are sorted by descending
    scores in single precision, and documents with tied scores by descending names.
    Queries that are not in `qrels` are left out. A query of a mapping is kept even if
    it has no relevant documents. A document with a negative relevance is treated as not
    judged.

    Examples
    --------
    >>> from io import StringIO
    >>> from skci import joint_report
    >>> from skci.readers import trec
    >>> qrels = "".join(f"q{q} 0 d{q % 3 % 2} 1\n" for q in range(60))
    >>> old = "".join(f"q{q} Q0 d{d} 0 {d} A\n" for q in range(60) for d in range(3))
    >>> new = old.replace("d0 0 0", "d0 0 9")
    >>> runs = {"old": StringIO(old), "new": StringIO(new)}
    >>> report = joint_report(**trec(StringIO(qrels), runs), metrics="map")
    >>> print(report["old", "map"], report["new", "map"])
    0.389 [0.361, 0.433] 0.778 [0.685, 0.855]
    """
    judged = _read(qrels, "qrels", _QRELS, "relevance")
    ranked = {
        name: _positions(_read(run, name, _RUN, "score"), name, judged)
        for name, run in by_model(runs, "runs").items()
    }
    rows = [
        (query, document)
        for query in judged
        for document in dict.fromkeys(
            chain(*(x[query] for x in (judged, *ranked.values())))
        )
        or [""]
    ]

    def column(values: _Values, missing: float) -> Array:
        return np.array([values[query].get(name, missing) for query, name in rows])

    return {
        "y_true": np.maximum(column(judged, NOT_JUDGED), NOT_JUDGED),
        "y_score": {name: column(run, np.nan) for name, run in ranked.items()},
        "query": np.array([query for query, _ in rows]),
    }


def _read(source: Any, parameter: str, columns: Sequence[str], value: str) -> _Values:
    """Read a number, such as a score, for each query and document in a file."""
    if isinstance(source, Mapping):
        return {
            query: _listed(documents, f"{parameter}[{query!r}]", value)
            for query, documents in source.items()
        }
    values: dict[str, dict[str, float]] = {}
    for place, line in read_lines(source, parameter):
        if not line or line.startswith("#"):
            continue
        entries = dict(zip(columns, line.split(), strict=False))
        try:
            number = float(entries.get(value, ""))
        except ValueError:
            number = np.nan
        if len(entries) < len(columns) or not isfinite(number):
            raise ValueError(
                f"{place}: the line must have {len(columns)} columns, "
                f"{join_names(columns)}, with a number as {value}, got {line!r:.80}"
            )
        documents = values.setdefault(entries["query"], {})
        if (document := entries["document"]) in documents:
            raise ValueError(
                f"{place}: each document must occur once for a query, got {document!r} "
                f"twice for {entries['query']!r}"
            )
        documents[document] = number
    return values


def _listed(documents: Any, place: str, value: str) -> Mapping[str, float]:
    """Convert the documents of a query to a mapping from documents to values.

    Each document in a list of relevant documents receives the value 1. In a ranked
    list, the value of a document is the negated rank of the document. A mapping is
    returned unchanged.
    """
    if isinstance(documents, Mapping):
        return documents
    has_ranks = value == "score"
    kinds: Any = list | tuple | np.ndarray
    if not has_ranks:
        kinds |= set | frozenset
    if not isinstance(documents, kinds):
        raise TypeError(
            f"{place} must be a mapping of documents to a {value} or a list of "
            f"documents, got {documents!r:.60}"
        )
    check_distinct([*documents], place, "documents")
    return {name: -k if has_ranks else 1 for k, name in enumerate(documents)}


def _positions(scores: _Values, name: str, judged: _Values) -> _Values:
    """Return the negated rank of each document in a run, for each judged query."""
    missing = [query for query in judged if not scores.get(query)]
    if len(missing) == len(judged):
        raise ValueError(
            f"the run {name!r} must have documents for queries of qrels, got none"
        )
    if missing:
        warn_caller(
            f"the run {name!r} has no documents for {len(missing)} of the "
            f"{len(judged)} judged queries. The metrics of such a query are 0, as in "
            "trec_eval -c. The queries without documents are "
            f"{join_names(first_names([*map(str, missing)], _MAX_NAMES))}",
            UserWarning,
        )
    return {query: _ranked(scores.get(query, {})) for query in judged}


def _ranked(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the negated rank of each document of a query.

    Documents are sorted as in trec_eval: by descending score, then by descending name.
    """
    with np.errstate(over="ignore"):
        single = np.array([*scores.values()], dtype=np.float32).tolist()
    order = sorted(zip(single, scores, strict=True), reverse=True)
    return {document: -position for position, (_, document) in enumerate(order, 1)}
