"""Count sentences that a reader must read twice, and fail if there are more than before.

    python .ci/prose.py [PATH ...]

It reads docstrings, comments and messages in Python files, and the text of pages. Each
pattern has a remedy. About half of the sentences that need rewriting match a pattern,
and one match in twelve is right as it is, so the number of matches has a maximum, which
may only fall, instead of being zero. No summary may begin with "Which", "How" or
"That".
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAXIMUM = {"skci": 16, "docs": 14, "README.md": 0}
"""Largest number of matches in each part of the project."""
HEADLESS = "headless summary"
SKIPPED = (">>>", "...", "---", "===", "|", "+-", ".. ", "```", ":math:", "References")
"""Beginnings of lines that are no prose."""

END = r"(?=[.,;:)]|$)"
START = r"(?:^|(?<=[.;:] ))"
PATTERNS = {
    "fronted of": (
        START + r"[Oo]f (?!course\b|shape\b|note\b)(?:[a-z0-9`]+ ){1,8}?[^.]*",
        "start with the subject: 'For two labels, ...', 'With several targets, ...'",
    ),
    "pronoun of": (
        r"\b(?:of|in|over|by|at|on|with|for|and|or|not|up) (?:that|those) of\b"
        r"|^(?:That|Those) of\b"
        r"|\b(?:that|those) of (?:all|it|them|which|each|both|its|that|those|others?|one|some|an?other|the others)\b"
        r"|\b(?:that|those) of\b[^.;]*\b(?:that|those) of\b",
        "repeat the noun: 'the variance of all rows', not 'that of all rows'",
    ),
    "predicate of": (
        r"\b(?:is|are|was|were|be|been) (?:then |each |all |not |also )?of "
        r"(?!shape|course|interest|order|size|types?\b|length|dtype|the form|(?:the )?same|different"
        r"|equal|one (?:type|length|shape|size|kind|scale)|the order|help|use\b|little|no |that order|any kind|kind)",
        "use a verb: 'belongs to', 'applies to', 'is computed from', 'refers to'",
    ),
    "bare same": (
        START
        + r"[Tt]he same (?:of|with|for|as|in|at|where|without|but|by|if|when|over|on)\b",
        "name it: 'Copy of the design with ...'",
    ),
    "what as a noun": (
        r"^What (?![^.]*\?)(?![a-z ]+$)"
        r"|\b(?:of|by|from|in|on|with|to|for|at|than|and|but) what (?!(?:follows|happens)\b)(?:is|are|was|an?|the|it|they|its|other|has|have)\b",
        "use the noun: 'Labels read from the reply', 'Columns of the report'",
    ),
    "headless summary": (
        r"^(?:Which|How|At which|That|Those)\b(?![^.]*\?)",
        "start with a noun or a verb: 'Indices of ...', 'Mask of ...', 'Number of ...'",
    ),
    "own": (
        r"\b(?:of|with|has|have|by) (?:its|their|your|a|his) own\b|\bthe own\b|^Own\b",
        "'separate', 'its', 'custom', 'individual'",
    ),
    "from n on": (
        r"\bfrom (?!then\b|now\b|here\b)(?:[\w*.`-]+|which) on\b",
        "'at or above n', '0, 1, ...', 'n or more'",
    ),
    "taken for": (
        r"\b(?:taken|counted|read) for (?!granted|each|every)|\b[Tt]akes? (?:\w+ ){1,4}for (?:a|an|those|that|one|none|its|independent)\b",
        "'treated as', 'interpreted as'",
    ),
    "rare word": (
        r"\b(?:so too(?= (?:of|is|are|for|with|in)\b|[.,;])|as ever|anew|whatever|whoever|thereof|therein|(?<=its )kin|(?<=are )alike|rows alike|mend(?:s|ed)?"
        r"|tells? of|(?:un)?told|besides|lest|hence|be it|as they are|as it is|those there are|there are all)\b",
        "plain words: 'also', 'again', 'regardless of', 'identical', 'fix', 'indicate', 'in addition to'",
    ),
    "least, greatest": (
        r"(?<!at )(?<!At )\b(?:[Ll]east|[Gg]reatest)\b(?! squares| favourable)",
        "'smallest', 'minimum', 'lower bound'; 'largest', 'maximum'",
    ),
    "by option": (
        r"\bby (?:`{1,2})?[a-z_]+=",
        "'with ``x=``', 'set ``x=``', 'pass ``x=``'",
    ),
    "say": (
        r"^(?:Say|Tell|Ask|Take|Part|Mend|Let|Word|Bind|Count up)\b|\b[Ss]ays? in words\b|\bin words\b",
        "the verb for what it does: 'Describe', 'Return', 'Validate', 'Split', 'Summarise'",
    ),
    "number as index": (
        r"\b[Nn]umbers? of (?:the|its|their) (?:independent |distinct |chosen )?"
        r"(?:part|group|unit|stratum|cell|column|sample|model|one|subgroup|block|cluster|term|row that|metric)\b",
        "'Index of the part', 'Group codes': *number* is a count",
    ),
    "stranded preposition": (
        r"\b(?:is|are|was|were|be|been|belongs?|comes?|come|read|taken|computed|drawn) (?:of|in|from|for|by|with|at)"
        + END,
        "'to which it belongs', 'used', or another sentence",
    ),
    "elided noun": (
        r"\bthat (?:has|have) (?:fewer|more|none|both|several)\b"
        r"|\b(?:has|have|are|is|there is|with|of) (?:none|some of either kind)"
        + END
        + r"|, (?:or|and|nor) (?:is|are|has|have|was|does|do)"
        + END
        + r"|\band of (?:all|both|each|others|the|its|their|several|those|two)\b"
        r"|(?<!rank)(?<!in )\b(?:of|than|to) (?:both|some|others|fewer|either|another)"
        + END,
        "repeat the noun",
    ),
    "in place of": (r"\bin place of\b", "'instead of'"),
    "there are": (
        r"\b(?:which|that|as|than) (?:there (?:is|are)|are all)"
        + END
        + r"|\ball there (?:is|are)\b|\bthat there are\b|\bthan there are\b|\bso many\b",
        "'exist', 'in the data', 'the whole population'",
    ),
    "inversion": (
        START
        + r"(?:Public|Positive|Negative|Excluded|Shown|Left|Given|Printed|Kept|Counted|Allowed|Known|New|Alike|Equal|Not|Also) (?:is|are|was|were)\b",
        "subject first: 'Rows with an event are positive'",
    ),
    "method has": (
        r"=[\"'\w-]+`* (?:has|have)\b|\b(?:function|method|report|call|option|command|it) (?:has|have) (?:it|them|those|that)\b|\bsingle look has\b",
        "'returns', 'uses', 'gives'",
    ),
    "chain of of": (
        r"(?:\bof\b[^.;:]*?){5,}",
        "split the sentence, or name the intermediate thing",
    ),
}

Place = tuple[int, str, str]
"""Line, kind and text of a piece of prose."""


def paragraphs(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a text with the number of their first line."""
    block: list[str] = []
    start = first
    for number, line in enumerate([*text.split("\n"), ""], first):
        bare = line.strip()
        if not bare or bare.startswith(SKIPPED) or re.match(r"\w+ : \S", bare):
            if block:
                yield start, " ".join(block)
            block = []
        else:
            start = start if block else number
            block.append(bare)


def docstrings(tree: ast.Module) -> Iterator[tuple[ast.Constant, int, str, str]]:
    """Yield the paragraphs of docstrings, the first of which is the summary."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for child in body if isinstance(body, list) else []:
            value = getattr(child, "value", None)
            text = getattr(value, "value", None)
            if isinstance(child, ast.Expr) and isinstance(text, str):
                for line, part in paragraphs(text, value.lineno):
                    kind = "summary" if line == value.lineno else "docstring"
                    yield value, line, kind, part


def messages(tree: ast.Module, read: set[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield strings of four words or more that have not been read as docstrings."""
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    for node in joined:
        read.update(ast.walk(node))
        values = [getattr(v, "value", "") for v in node.values]
        yield node.lineno, "".join(v if isinstance(v, str) else "{}" for v in values)
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and node not in read:
            yield node.lineno, node.value


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield comments; those on successive lines of their own are united."""
    block: list[str] = []
    start = last = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or "type: ignore" in token.string:
            continue
        is_alone = token.line.lstrip().startswith("#")
        if block and not (is_alone and token.start[0] == last + 1):
            yield start, " ".join(block)
            block = []
        start = start if block else token.start[0]
        block.append(token.string.lstrip("# "))
        last = token.start[0] if is_alone else -1
    if block:
        yield start, " ".join(block)


def prose(path: Path) -> Iterator[Place]:
    """Yield the prose of a file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from ((line, "text", text) for line, text in paragraphs(source, 1))
        return
    tree = ast.parse(source)
    read: set[ast.AST] = set()
    for value, *place in docstrings(tree):
        read.add(value)
        yield tuple(place)  # type: ignore[misc]
    for line, text in messages(tree, read):
        if len(text.split()) > 3:
            yield line, "message", text
    yield from ((line, "comment", text) for line, text in comments(source))


def matches(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the pattern of each match in a file, and its place with the text around."""
    for line, kind, text in prose(path):
        for name, (pattern, _) in PATTERNS.items():
            if name == HEADLESS and kind != "summary":
                continue
            if kind == "text" and name in ("say", "what as a noun"):
                continue
            for match in re.finditer(pattern, text):
                low, high = max(match.start() - 40, 0), match.start() + 80
                yield name, f"{path}:{line}: {text[low:high]}"


def main() -> int:
    """Print the matches in some paths, or compare those of the project with before."""
    parts = sys.argv[1:] or MAXIMUM
    status = 0
    for part in parts:
        root = Path(part) if sys.argv[1:] else ROOT / part
        files = [root] if root.is_file() else sorted(root.rglob("*"))
        found = [
            match
            for file in files
            if file.suffix in (".py", ".rst", ".md")
            and "auto_examples" not in file.parts
            for match in matches(file)
        ]
        counts = Counter(name for name, _ in found)
        maximum = MAXIMUM.get(part, 0)
        print(f"{part}: {len(found)} matches, at most {maximum}")
        if sys.argv[1:] or len(found) > maximum or counts[HEADLESS]:
            for name, place in sorted(found):
                print(f"{place} [{name}: {PATTERNS[name][1]}]")
        status |= not sys.argv[1:] and (len(found) > maximum or counts[HEADLESS] > 0)
    return status


if __name__ == "__main__":
    sys.exit(main())
