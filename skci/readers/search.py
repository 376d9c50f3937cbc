"""Judgements and runs of search, in the formats of TREC."""

from collections.abc import Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np

from skci._arrays import Array
from skci._validation import first_names, join_names
from skci.exceptions import warn_caller
from skci.metrics.rankings import NOT_JUDGED
from skci.readers.files import by_model, read_lines

_QRELS = "query", "iteration", "document", "relevance"
_RUN = "query", "Q0", "document", "rank", "score", "tag"
_MOST_NAMED = 6  # queries in a message

_Values = Mapping[str, Mapping[str, float]]
"""Relevance, score or position of each document of each query."""


def trec(qrels: Any, runs: Any) -> dict[str, Any]:
    r"""Read relevance judgements and runs of TREC, by the conventions of trec_eval.

    The result has the arguments of :func:`skci.joint_report`, in which all metrics of
    rankings have the values of ``trec_eval -c``.

    Parameters
    ----------
    qrels : path, open file or mapping of str to mapping
        Judgements of relevance. Lines have four columns: query, iteration, document and
        relevance. A mapping has the relevance of each document of each query, as in
        pytrec_eval.
    runs : path, open file, or list or mapping of these
        Runs of some systems. Lines have six columns: query, Q0, document, rank, score
        and tag. A run is named by a mapping, or else by its file. In a mapping it may
        be a mapping itself, of the score of each document of each query.

    Returns
    -------
    dict
        ``y_true``, the relevance of each document, -1 if it was not judged;
        ``y_score``, of each run the position of the document times -1, NaN if it was
        not retrieved; and ``query``. The rows are the documents that are judged or
        retrieved for a query that has judgements.

    Raises
    ------
    ValueError
        If a line has other columns, or its document occurs twice for its query; the
        message names the file and the line.

    Warns
    -----
    UserWarning
        If a run has no documents of a judged query, which then counts as 0.

    See Also
    --------
    skci.MeanAveragePrecisionCI, skci.NDCGCI, skci.BprefCI : Metrics of rankings.

    Notes
    -----
    The rank in a run is ignored, as in trec_eval: documents are in descending order of
    their scores in single precision, and tied ones in descending order of their names.
    Queries without judgements are left out. A document with a negative relevance was
    not judged.

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
    ]

    def column(values: _Values, missing: float) -> Array:
        return np.array([values[query].get(name, missing) for query, name in rows])

    return {
        "y_true": np.maximum(column(judged, NOT_JUDGED), NOT_JUDGED),
        "y_score": {name: column(run, np.nan) for name, run in ranked.items()},
        "query": np.array([query for query, _ in rows]),
    }


def _read(source: Any, parameter: str, columns: Sequence[str], value: str) -> _Values:
    """Read the number of each document of each query in the column of values."""
    if isinstance(source, Mapping):
        return source
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
                f"{place}: must have {len(columns)} columns, {join_names(columns)}, "
                f"with a number as {value}, got {line!r:.80}"
            )
        documents = values.setdefault(entries["query"], {})
        if (document := entries["document"]) in documents:
            raise ValueError(
                f"{place}: each document must occur once for a query, got {document!r} "
                f"twice for {entries['query']!r}"
            )
        documents[document] = number
    return values


def _positions(scores: _Values, name: str, judged: _Values) -> _Values:
    """Positions in a run, times -1, of the documents of the judged queries."""
    lacking = [query for query in judged if not scores.get(query)]
    if len(lacking) == len(judged):
        raise ValueError(f"the run {name!r} must have documents of queries of qrels")
    if lacking:
        warn_caller(
            f"the run {name!r} has no documents of {len(lacking)} of the {len(judged)} "
            f"judged queries, which count as 0, as in trec_eval -c: "
            f"{join_names(first_names(lacking, _MOST_NAMED))}",
            UserWarning,
        )
    return {query: _ranked(scores.get(query, {})) for query in judged}


def _ranked(scores: Mapping[str, float]) -> dict[str, float]:
    """Positions times -1 of the documents of a query, as trec_eval orders them."""
    with np.errstate(over="ignore"):
        single = np.array([*scores.values()], dtype=np.float32).tolist()
    order = sorted(zip(single, scores, strict=True), reverse=True)
    return {document: -position for position, (_, document) in enumerate(order, 1)}
