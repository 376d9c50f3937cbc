"""References and hypotheses of speech recognition or translation."""

import re
from collections.abc import Callable
from typing import Any

from skci._validation import check_choice, first_names, join_names
from skci.readers.files import by_model, read_lines

_LAYOUTS = {
    "lines": "",
    "kaldi": r"(?P<id>\S+)(?P<text>.*)",
    "trn": r"(?P<text>.*)\((?P<id>[^()]+)\)",
}
_AN_ID = r"(?P<id>(?=\S*[\d_-])\S+)\s.*"
"""Pattern of a line whose first word has a digit, a hyphen or an underscore."""
_MAX_NAMES = 6  # maximum number of utterances in a message


def transcripts(
    reference: Any,
    hypotheses: Any,
    *,
    layout: str | None = None,
    speaker: Callable[[str], Any] | None = None,
) -> dict[str, Any]:
    r"""Read references and hypotheses of speech recognition or translation.

    The result contains the arguments of :func:`skci.joint_report`.

    Parameters
    ----------
    reference : path or open file
        Reference texts, one for each utterance.
    hypotheses : path, open file, or list or mapping of these
        Transcripts by one or more systems. To name the systems, pass a mapping of names
        to files. By default, the systems are named after their files.
    layout : {"lines", "kaldi", "trn"}, optional
        Layout of the lines. "lines" (the default): each line is a text, in the same
        order in all files. "kaldi": the ID of the utterance, followed by the text.
        "trn": the text, followed by the ID in parentheses, as in the files of NIST's
        sclite. If the lines of the reference seem to have IDs, `layout` is required.
    speaker : callable, optional
        Function that maps the ID of an utterance to its speaker, such as
        ``lambda utterance: utterance.split("-")[0]``. The utterances of each speaker
        are then a cluster.

    Returns
    -------
    dict
        ``y_true`` contains the references and ``y_pred`` the texts of each system. If
        `speaker` is passed, ``groups`` contains the speakers.

    Raises
    ------
    ValueError
        If the files have different utterances, if an ID occurs twice in a file, or if a
        line has no ID. The message names the file.

    See Also
    --------
    skci.WordErrorRateCI, skci.BleuCI : Metrics of texts.

    Examples
    --------
    >>> from io import StringIO
    >>> from skci.readers import transcripts
    >>> reference = StringIO("anna-1 turn on the light\nanna-2 call me\n")
    >>> heard = StringIO("anna-2 call me\nanna-1 turn on a light\n")
    >>> data = transcripts(reference, {"large": heard}, layout="kaldi")
    >>> data["y_true"], data["y_pred"]
    (['turn on the light', 'call me'], {'large': ['turn on a light', 'call me']})
    """
    check_choice(layout or "lines", [*_LAYOUTS], "layout")
    if speaker is not None and not (callable(speaker) and layout in ("kaldi", "trn")):
        raise ValueError(
            "speaker must be a function of the ID of an utterance, and layout must be "
            f"'kaldi' or 'trn', got {speaker!r} and layout={layout!r}"
        )
    said = _read(reference, "reference", layout or "lines")
    if layout is None:
        _check_no_ids([*said.values()])
    columns: dict[str, Any] = {"y_true": [*said.values()], "y_pred": {}}
    for name, source in by_model(hypotheses, "hypotheses").items():
        texts = _read(source, name, layout or "lines")
        if differing := sorted(said.keys() ^ texts.keys()):
            names = join_names(first_names(differing, _MAX_NAMES))
            raise ValueError(
                f"{name!r} must have the {len(said)} utterances of the reference, got "
                f"{len(texts)}; only one of the two files has {names}"
            )
        columns["y_pred"][name] = [texts[utterance] for utterance in said]
    if speaker is not None:
        columns["groups"] = [speaker(utterance) for utterance in said]
    return columns


def _check_no_ids(lines: list[str]) -> None:
    """Check that the lines do not seem to contain IDs of utterances."""
    for layout, pattern in (("trn", _LAYOUTS["trn"]), ("kaldi", _AN_ID)):
        matches = [re.fullmatch(pattern, line.strip()) for line in lines]
        ids = {match["id"] for match in matches if match}
        if len(lines) > 1 and len(ids) == len(lines):
            raise ValueError(
                "layout must be given, because each line may have an ID, such as "
                f"{min(ids)!r}; pass layout={layout!r} if this is an ID, or "
                "layout='lines' if it is a word"
            )


def _read(source: Any, parameter: str, layout: str) -> dict[str, str]:
    """Return a dict of texts by the ID of the utterance, or by line number."""
    texts: dict[str, str] = {}
    for number, (place, line) in enumerate(read_lines(source, parameter), 1):
        if layout == "lines":
            texts[f"line {number}"] = line
        elif line:
            match = re.fullmatch(_LAYOUTS[layout], line)
            if not match or match["id"] in texts:
                requirement = (
                    f"the {layout} layout must have a different ID in each line"
                )
                raise ValueError(f"{place}: {requirement}, got {line!r:.80}")
            texts[match["id"]] = match["text"].strip()
    return texts
